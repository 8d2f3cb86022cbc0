"""Model endpoints under names of the user's: in the project file, in the user's settings and in the environment."""

from __future__ import annotations

from anyio import to_thread

from tests.cli.run.test_configs import outputs
from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import Server

CONFIG = 'prompts: ["Say {{word}}"]\nproviders: [%s]\ntests: [{vars: {word: cat}, assert: [{type: llm-rubric, value: It is polite.}]}]\n'


async def test_a_named_endpoint_is_a_provider_wherever_a_model_is_named(at: Terminal, server: Server) -> None:
    at.file("minions-evals.toml", f'[models.local]\nbase-url = "{server.url}/v1"\n')
    at.file("c.yaml", CONFIG % "local:tiny")
    told = await to_thread.run_sync(at.run, "eval", "c.yaml", "--json", "--grader", "local:judge")
    assert told.code == 0, told.out + told.err
    assert outputs(told.one()) != [None]
    assert server.requests >= 2
    doctor = await to_thread.run_sync(at.run, "doctor")
    assert f"local: no key, local server at {server.url}/v1" in doctor.out


async def test_the_environment_names_endpoints_too(at: Terminal, server: Server) -> None:
    here = at.with_env(MINIONS_EVALS_MODELS=f"one={server.url}/v1, two={server.url}/v1")
    here.file("c.yaml", CONFIG % "one:tiny, two:tiny")
    told = await to_thread.run_sync(here.run, "eval", "c.yaml", "--json", "--grader", "two:judge")
    assert told.code == 0, told.out + told.err
    assert len(outputs(told.one())) == 2


def test_a_repository_does_not_say_where_keys_are_sent_and_no_name_is_taken_twice(at: Terminal) -> None:
    at.file("c.yaml", CONFIG % "echo")
    for fields, words in (
        (
            '[models.far]\nbase-url = "https://models.example/v1"\nkey-env = "OPENAI_API_KEY"\n',
            "must not send the key of OPENAI_API_KEY",
        ),
        ('[models.openai]\nbase-url = "http://localhost:1/v1"\n', "'openai' cannot be the name of a model endpoint"),
        ('[models.x]\nbase-url = "no address"\n', "models.x.base-url"),
        ('[models.x]\napi = "soap"\nbase-url = "http://localhost:1/v1"\n', "models.x.api"),
    ):
        at.file("minions-evals.toml", fields)
        refused = at.run("eval", "c.yaml")
        assert refused.code == 2, refused.err
        assert words in refused.err
    (at.folder / "minions-evals.toml").unlink()
    unknown = at.with_env(MINIONS_EVALS_MODELS="nothing").run("runs")
    assert "expected NAME=URL, got 'nothing'" in unknown.err


async def test_a_cloud_is_a_provider_and_judge_wherever_a_model_is_named(at: Terminal, server: Server) -> None:
    at.file(
        "minions-evals.toml",
        f'[models.aws]\napi = "bedrock"\nregion = "eu-central-1"\nbase-url = "{server.url}"\nkey-env = "BEDROCK_KEY"\n',
    )
    at.file("c.yaml", CONFIG % "aws:tiny")
    here = at.with_env(BEDROCK_KEY="a-key")
    told = await to_thread.run_sync(here.run, "eval", "c.yaml", "--json", "--grader", "aws:judge")
    assert told.code == 0, told.out + told.err
    assert outputs(told.one()) != [None]
    assert server.last_head.startswith(b"POST /model/judge/invoke ")
    doctor = await to_thread.run_sync(at.run, "doctor")
    assert "aws: no key, the credentials of bedrock in eu-central-1" in doctor.out


def test_a_repository_does_not_say_where_signed_requests_are_sent(at: Terminal) -> None:
    at.file("c.yaml", CONFIG % "echo")
    at.file(
        "minions-evals.toml",
        '[models.x]\napi = "bedrock"\nregion = "eu-central-1"\nbase-url = "https://bedrock.example"\n',
    )
    refused = at.run("eval", "c.yaml")
    assert refused.code == 2
    assert "must not send what your bedrock credentials sign to https://bedrock.example" in refused.err
