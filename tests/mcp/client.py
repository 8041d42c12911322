"""Drives `proctor mcp` with the protocol's official client, of this or the last major version, and prints what it answers as JSON."""

import asyncio
import json
import os
import sys

MODE, PROCTOR, CALLS, TOGETHER = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def drive(client, version):
    told = {"version": version, "answers": []}
    told["tools"] = [plain(tool) for tool in (await client.list_tools()).tools]
    told["resources"] = [plain(resource) for resource in (await client.list_resources()).resources]
    for name, arguments in CALLS:
        progress = []

        async def tell(passed, total, message):
            progress.append([passed, total, message])

        answer = plain(await client.call_tool(name, arguments, progress_callback=tell))
        told["answers"].append({"name": name, "progress": progress, **answer})
    together = [client.call_tool("verdict", {"wait_s": 0}) for _ in range(TOGETHER)]
    told["together"] = [plain(answer).get("isError", False) for answer in await asyncio.gather(*together)]
    report = plain(await client.read_resource(told["resources"][0]["uri"]))
    told["report"] = report["contents"][0]["text"]
    print(json.dumps(told))


async def main():
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = stdio_client(StdioServerParameters(command=PROCTOR, args=["mcp"], env=dict(os.environ), cwd=os.getcwd()))
    if MODE == "1":
        from mcp import ClientSession

        async with server as (read, write), ClientSession(read, write) as session:
            begun = await session.initialize()
            await drive(session, begun.protocolVersion)
    else:
        from mcp import Client

        async with Client(server, mode=MODE) as client:
            await drive(client, client.protocol_version)


asyncio.run(main())
