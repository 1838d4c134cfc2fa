"""An MCP client by its SDK. It prints where its person has to go, reads the code, and answers each line with what a tool says."""

import asyncio
import sys

from mcp import ClientSession
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

url, redirect_uri = sys.argv[1:3]


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def read_line():
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


async def redirect(to):
    print("authorize", to, flush=True)


async def callback():
    code, state, iss = (await read_line()).split()
    return AuthorizationCodeResult(code=code, state=state, iss=iss)


async def main():
    metadata = OAuthClientMetadata(client_name="An MCP client", redirect_uris=[redirect_uri])
    auth = OAuthClientProvider(url, metadata, Storage(), redirect, callback)
    async with create_mcp_http_client(auth=auth) as http, streamable_http_client(url, http_client=http) as streams:
        async with ClientSession(*streams[:2]) as session:
            await session.initialize()
            print("connected", flush=True)
            while await read_line():
                result = await session.call_tool("whoami", {})
                print("whoami", result.content[0].text, flush=True)


asyncio.run(main())
