"""localstripe, a stand-in for Stripe that nobody here wrote, on a free port of this machine alone.

Started by its own command it listens everywhere and keeps what it knows in a file that all of them share; both are
left out here. The first line this prints is {"port": N}. It ends when its standard input does, so it never outlives
whoever started it.
"""

import asyncio
import json
import sys

from aiohttp import web
from localstripe.resources import Store
from localstripe.server import app

Store.dump_to_disk = lambda self: None


async def main():
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(json.dumps({"port": site._server.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
