"""A worker of the tests: takes one lease after the other of a BuildGrid, and has buildbox-run carry it out.

bot.py SERVER NAME BUILDBOX_RUN [ARGUMENT OF BUILDBOX_RUN …]
"""
import subprocess, sys, tempfile, pathlib, grpc
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as reapi
from buildgrid._protos.google.bytestream import bytestream_pb2 as stream, bytestream_pb2_grpc as stream_grpc
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2 as bots, bots_pb2_grpc as bots_grpc, worker_pb2

server, name, runner, *arguments = sys.argv[1:]
channel = grpc.insecure_channel(server)
service, storage = bots_grpc.BotsStub(channel), stream_grpc.ByteStreamStub(channel)
device = worker_pb2.Device(handle=name, properties=[worker_pb2.Device.Property(key="OSFamily", value="linux")])
session = bots.BotSession(bot_id=name, status=1, worker=worker_pb2.Worker(devices=[device]))


def update():
    """Tells what has ended, and takes what comes; anew if the server does not know this worker."""
    global session
    try:
        if session.name:
            session = service.UpdateBotSession(bots.UpdateBotSessionRequest(name=session.name, bot_session=session), timeout=5)
        else:
            session = service.CreateBotSession(bots.CreateBotSessionRequest(parent="", bot_session=session), timeout=5)
    except grpc.RpcError as error:
        print(error.code(), error.details(), flush=True)
        if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
            session = bots.BotSession(bot_id=name, status=1, worker=session.worker)


def carry_out(lease):
    action = reapi.Action()
    if not lease.payload.Unpack(action):
        digest = reapi.Digest()
        lease.payload.Unpack(digest)
        read = storage.Read(stream.ReadRequest(resource_name=f"blobs/{digest.hash}/{digest.size_bytes}"))
        action.ParseFromString(b"".join(piece.data for piece in read))
    # This machine stands for the image, which buildbox-run would look for in a registry.
    kept = [one for one in action.platform.properties if one.name != "container-image"]
    del action.platform.properties[:]
    action.platform.properties.extend(kept)
    with tempfile.TemporaryDirectory() as place:
        asked, answered = pathlib.Path(place, "action"), pathlib.Path(place, "result")
        asked.write_bytes(action.SerializeToString())
        command = [runner, f"--remote=http://{server}", "--disable-localcas", f"--action={asked}", f"--action-result={answered}"]
        ended = subprocess.run([*command, *arguments])
        print(name, "ended", ended.returncode, flush=True)
        result = reapi.ActionResult()
        if answered.exists():
            result.ParseFromString(answered.read_bytes())
        lease.result.Pack(result)
        # buildbox-run ends with 128 and SIGALRM where the time limit ended the command.
        lease.status.code = 4 if ended.returncode == 142 else 0 if answered.exists() else 13
    lease.state = bots.COMPLETED


print("up", flush=True)
while True:
    update()
    for lease in session.leases:
        if lease.state == bots.PENDING:
            lease.state = bots.ACTIVE
            update()
    for lease in session.leases:
        if lease.state == bots.ACTIVE:
            carry_out(lease)
