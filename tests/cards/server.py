"""localstripe, a third-party fake of Stripe, on a free port of localhost.

Its own command would listen on all addresses and save its state in a shared file, so this script starts it without
either. The first line it prints is {"port": N}. It exits when its standard input closes, so it never outlives the
process that started it.
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
