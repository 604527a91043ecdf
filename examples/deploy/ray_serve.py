"""The server as a deployment of Ray Serve, whose replicas grow and shrink with the load.

    serve run --app-dir examples/deploy ray_serve:app artifact=/srv/kokoro

`api_key=KEY` is what clients must send, `replicas=N` the largest number of replicas, `threads=N`
the CPUs of each. The artifact lies at the same path on every machine. Needs the extra `ray`.
"""

from pathlib import Path

from fastapi import FastAPI
from ray import serve

from kokoro_pipeline.runtime.server.app import make_app
from kokoro_pipeline.runtime.server.engines import LocalEngine
from kokoro_pipeline.runtime.server.settings import ServerSettings


def app(arguments: dict[str, str]) -> serve.Application:
    """The deployment, from what stands behind its name on the command line."""
    threads = int(arguments.get("threads", 1))
    settings = ServerSettings(
        Path(arguments["artifact"]), threads=threads, api_key=arguments.get("api_key")
    )

    def make_replica() -> FastAPI:  # in here, for the replicas do not have this file
        return make_app(settings, [LocalEngine(settings.artifact, threads)])

    deployment = serve.deployment(
        serve.ingress(make_replica)(),
        name="kokoro",
        max_ongoing_requests=settings.max_requests,
        autoscaling_config={"max_replicas": int(arguments.get("replicas", 4))},
        ray_actor_options={"num_cpus": threads},
    )
    return deployment.bind()
