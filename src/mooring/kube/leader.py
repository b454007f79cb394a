"""Leader election: of several processes, the one that holds a Lease works.

`live` runs one `LeaderElector` a process. It must never say that we lead when another may: time
counts from when a renewal was sent, on this machine's clock alone, and not even a request that
hangs delays the end.

    waiting ──acquire()──> leading ──release()──> released
                              │
                              └── not renewed in time, or another holds the Lease ──> lost
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import TypeVar

from mooring.errors import ApiError, KubeError
from mooring.kube.boot_clock import boot_clock
from mooring.kube.lease import (
    JITTER,
    Lease,
    LeaseClient,
    LeaseLock,
    LeaseSettings,
    LeaseSpec,
    make_identity,
)
from mooring.kube.reflector import Pacing
from mooring.kube.timestamps import micro_time

T = TypeVar("T")

logger = logging.getLogger("mooring.kube")

BOOT_TIME = Pacing(clock=boot_clock)
_RELEASE_TRIES = 3
_MICROSECOND = 1000


class LeaderElector:
    """Takes part in one election; for another, make another.

    Args:
        client: where the Lease is; a client of its own, so that its requests wait for no others.
        settings: which Lease, and how long everything takes.
        identity: who we are; nobody else may have the same.
        on_new_leader: called with the identity of every leader seen, our own included; it must
            return at once.
        pacing: where time and chance come from.
        now_ns: nanoseconds since 1970, only written to the Lease for people to read.

    Attributes:
        lost: set when we led and do not any more, other than through `release`.
        leader: who holds the Lease, as far as we have seen; empty for nobody.
        error: why the last try failed; None when it did not.
    """

    def __init__(
        self,
        client: LeaseClient,
        settings: LeaseSettings,
        identity: str = "",
        *,
        on_new_leader: Callable[[str], object] | None = None,
        pacing: Pacing = BOOT_TIME,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.settings = settings
        self.identity = identity or make_identity()
        self.lost = asyncio.Event()
        self.leader = ""
        self.error: KubeError | None = None
        self._access = LeaseLock(client, settings.namespace, settings.name)
        self._on_new_leader = on_new_leader
        self._pacing = pacing
        self._now_ns = now_ns
        self._lease: Lease | None = None
        self._seen_at = 0.0
        self._held_until: float | None = None
        self._wrote = False
        self._stamp = 0
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self._logged: set[str] = set()

    @property
    def leading(self) -> bool:
        """Whether we lead at this very moment; ask before everything only a leader may do."""
        until = self._held_until
        return until is not None and self._pacing.clock() < until

    async def acquire(self) -> None:
        """Wait until we lead; from then on the Lease is renewed until `release`, or lost."""
        if self._wrote:
            raise RuntimeError("a LeaderElector takes part in one election only")
        settings, pacing = self.settings, self._pacing
        logger.info("Waiting to become the leader: Lease %s/%s.", settings.namespace, settings.name)
        while not await self._attempt():
            await pacing.sleep(settings.retry_seconds * (1 + JITTER * pacing.random()))
        self._tasks = (asyncio.create_task(self._renew()), asyncio.create_task(self._watch()))
        logger.info("Leading as %s.", self.identity)

    async def release(self) -> None:
        """Stop leading and give the Lease up, so that another can take it at once.

        Call it when all work that only a leader may do has ended. It never raises `KubeError`: a
        Lease that cannot be given up ends by itself.
        """
        self._stop()
        if not (self._wrote and self.settings.release_on_stop):
            return
        until = self._pacing.clock() + self.settings.renew_seconds
        for _ in range(_RELEASE_TRIES):
            try:
                if await self._give_up(until):
                    logger.info("Released the Lease.")
            except ApiError as error:
                if error.status == HTTPStatus.CONFLICT:
                    continue  # a renewal on its way arrived in between
                logger.warning("The Lease was not released and will expire: %s", error)
            except KubeError as error:
                logger.warning("The Lease was not released and will expire: %s", error)
            return

    async def _give_up(self, until: float) -> bool:
        # parity v1.36.4: leaderelection.go release
        lease = await self._limited(self._access.get, until)
        if lease.spec.holder != self.identity:
            return False
        now = self._time()
        spec = LeaseSpec("", 1, now, now, lease.spec.lease_transitions or 0)
        await self._limited(lambda seconds: self._access.update(lease, spec, seconds), until)
        return True

    async def _renew(self) -> None:
        try:
            while self._held_until is not None:
                await self._pacing.sleep(self.settings.retry_seconds)
                await self._attempt()
        except Exception:  # the watch would find out, but late
            logger.exception("Renewing the Lease failed unexpectedly.")
            self._lose("it cannot be renewed")

    async def _watch(self) -> None:
        """Notice the end of our time at once, whatever the renewal is waiting for."""
        while self._held_until is not None and not self._late():
            await self._pacing.sleep(self._held_until - self._pacing.clock())

    def _late(self) -> bool:
        """Lose the Lease if our time is over."""
        if self._held_until is None or self.leading:
            return False
        self._lose(f"it was not renewed for {self.settings.hold_seconds:g}s")
        return True

    async def _attempt(self) -> bool:
        """Try once to take or renew the Lease; say whether we lead now."""
        if self._late():
            return False
        try:
            done = await self._try_acquire_or_renew()
        except KubeError as error:
            self.error = error
            text = str(error)
            if text not in self._logged:
                self._logged.add(text)
                logger.warning("%s (the Lease; retrying)", text)
            return False
        self.error = None
        self._logged.clear()
        return done

    async def _try_acquire_or_renew(self) -> bool:
        # parity v1.36.4: leaderelection.go tryAcquireOrRenew
        began = self._pacing.clock()
        lease = self._lease
        if lease is not None and lease.spec.holder == self.identity and self._fresh(lease, began):
            try:
                return await self._write(lease)
            except KubeError as error:
                logger.debug("The Lease could not be renewed right away: %s", error)
        try:
            lease = await self._limited(self._access.get, self._held_until)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return await self._write(None)
        self._see(lease)
        holder = lease.spec.holder
        if holder and holder != self.identity:
            if self._held_until is not None:
                self._lose(f"{holder} holds it")
                return False
            if self._fresh(lease, began):
                return False
        return await self._write(lease)

    def _fresh(self, lease: Lease, now: float) -> bool:
        """Whether a Lease changed so lately, seen from here, that its holder still leads."""
        return self._seen_at + (lease.spec.lease_duration_seconds or 0) > now

    def _see(self, lease: Lease) -> None:
        """Remember a Lease, and when it last changed; its own times are another machine's."""
        if self._lease is None or lease.spec != self._lease.spec:
            self._seen_at = self._pacing.clock()
        self._lease = lease
        holder = lease.spec.holder
        if holder != self.leader:
            self.leader = holder
            if holder:
                logger.info("The leader is %s.", holder)
                if self._on_new_leader is not None:
                    self._on_new_leader(holder)

    async def _write(self, lease: Lease | None) -> bool:
        """Write ourselves into the Lease; fails if anybody else wrote since it was read."""
        now = self._time()
        old = lease.spec if lease is not None else LeaseSpec()
        ours = old.holder == self.identity
        transitions = old.lease_transitions or 0
        spec = LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=self.settings.stored_seconds,
            acquire_time=old.acquire_time if ours and old.acquire_time else now,
            renew_time=now,
            lease_transitions=transitions if ours or lease is None else transitions + 1,
        )
        self._wrote = True
        sent = self._pacing.clock()
        if lease is None:
            stored = await self._limited(
                lambda seconds: self._access.create(spec, seconds), self._held_until
            )
        else:
            stored = await self._limited(
                lambda seconds: self._access.update(lease, spec, seconds), self._held_until
            )
        self._see(stored)
        until = sent + self.settings.hold_seconds
        if self._late() or self._pacing.clock() >= until:
            return False
        self._held_until = until
        return True

    def _time(self) -> str:
        """The time for the Lease; it always grows, for others only see that it changes."""
        self._stamp = max(self._now_ns(), self._stamp + _MICROSECOND)
        return micro_time(self._stamp)

    async def _limited(
        self, send: Callable[[float], Coroutine[object, object, T]], until: float | None
    ) -> T:
        """Send one request and wait for the answer no longer than it may take."""
        seconds = self.settings.request_seconds
        if until is not None:
            seconds = min(seconds, until - self._pacing.clock())
            if seconds <= 0:
                raise KubeError("There was no time left to ask the API server.")
        request = asyncio.ensure_future(send(seconds))
        timer = asyncio.ensure_future(self._pacing.sleep(seconds))
        request.add_done_callback(_retrieve)
        try:
            await asyncio.wait((request, timer), return_when=asyncio.FIRST_COMPLETED)
            if request.done():
                return request.result()
        finally:
            request.cancel()
            timer.cancel()
        raise KubeError(f"The API server did not answer within {seconds:g}s.")

    def _lose(self, why: str) -> None:
        if not self.lost.is_set() and self._held_until is not None:
            logger.error("The Lease is lost: %s.", why)
            self._stop()
            self.lost.set()

    def _stop(self) -> None:
        self._held_until = None
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._tasks = ()


def _retrieve(request: asyncio.Future[T]) -> None:
    """What nobody waits for any more is nobody's error."""
    if not request.cancelled():
        request.exception()
