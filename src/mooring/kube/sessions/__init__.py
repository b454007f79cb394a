"""Connections to one API server on which we say who we are.

    api_request (what is asked, what comes back) <── session ──> http1, for nearly all of them
                                                        └──────> aiohttp_session, for the others

`client` has a `Session`. Nothing here looks at answers.
"""
