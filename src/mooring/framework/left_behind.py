"""How much foreign code that was cancelled may go on all the same.

A coroutine that catches its cancellation cannot be ended. It is left behind, and whoever leaves so
many behind is not asked any more before one of them has ended: `live.async_hooks` for a plugin,
`extender.async_functions` for a policy.
"""

from typing import Final

MOST_LEFT_BEHIND: Final = 100
