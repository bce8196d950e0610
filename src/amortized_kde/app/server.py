"""The page's server: Streamlit's, with headers that let a browser ask no other machine for anything."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.starlette import App

PAGE = Path(__file__).with_name("page.py")
# Streamlit writes styles into elements and loads components from blobs. Its one inline script, for search engines, is
# not run.
POLICY = {
    "default-src": "'self'",
    "script-src": "'self' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{kind} {sources}" for kind, sources in POLICY.items()),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class Headers:
    """Middleware that adds `HEADERS` to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        await self.app(scope, receive, send_with_headers)


def serve(options: Mapping[str, Any]) -> None:
    """Serve the page with these options of Streamlit's, until the process is stopped."""
    # Warnings of other libraries quote cells and names, which no log may show.
    warnings.simplefilter("ignore")
    App(PAGE, middleware=[Middleware(Headers)]).run(config=options)
