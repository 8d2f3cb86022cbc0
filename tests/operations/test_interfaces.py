"""Every operation at every interface: the same fields, bounds, names, defaults and words, or a reason in the table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import annotated_types
import pytest
from graphql import GraphQLInputObjectType, GraphQLNonNull, build_schema
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from minions_evals_mcp.cli.command_lines import build
from minions_evals_mcp.cli.derived import GivenOptions
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.messages.payloads import KINDS, payload_as
from minions_evals_mcp.operations.fields import OfferedField, fields_at, offer_at
from minions_evals_mcp.operations.table import DEFAULTS, INTERFACES, LEFT_OUT, TABLE, Interface, Offer, Operation
from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.edge.derived import DerivedArguments, Starting, WaitingArguments, beside
from minions_evals_mcp.server.graphql import inputs
from minions_evals_mcp.server.graphql.derived import REF, DerivedInput
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.tasks.run_tasks import STARTING

SAMPLES: Mapping[str, Mapping[str, Any]] = {
    "ab_test": {"test_case_id": "case", "branch_ids": ["a", "b"]},
    "plan_benchmark": {"benchmark_id": "b", "effect": 0.2},
    "run_benchmark": {"benchmark_id": "b"},
    "run_test_case": {"test_case_id": "c"},
    "attack_benchmark": {"benchmark_id": "b", "kinds": ["override"]},
    "compare_versions": {"benchmark_id": "b", "version_a": "p@1", "version_b": "p@2"},
    "batch_run_tests": {"prompt_id": "p", "test_case_ids": ["c"]},
    "forget": {"subject": "Ada Lovelace"},
    "assign_judging": {"run_id": "run", "people": ["anna"]},
    "try_version": {"benchmark_id": "b", "version": "p@2"},
    "detect_trend": {"benchmark_id": "b"},
    "classify_failure": {"run_id": "run"},
    "audit": {"subject": "b"},
    "rejudge": {"run_id": "run"},
    "promote_failure": {"failure_id": "run:case", "corrected": "19 November"},
    "seal": {"benchmark_id": "b", "share": 0.3},
    "get_run": {"run_id": "run"},
    "cancel_run": {"run_id": "run"},
    "lift": {"subject": "skills/csv"},
    "calibrate": {"benchmark_id": "b", "repeats": 5},
    "label_user": {"run_id": "run", "sound": ["case"], "reason": "It gave what it was asked for."},
    "judge_check": {"ident": "b", "probes": ["empty"]},
    "suite_from_prompt": {"prompt_version_ref": "p@1"},
    "suite_from_traces": {"agent_id": "support-desk", "dimensions": ["language"]},
    "approve_prompt_version": {"prompt_version_ref": "p@2", "decided_by": "ada"},
}
"""A request that fits, for each operation."""
OFFERED: list[tuple[str, Interface]] = [
    (name, interface)
    for name, operation in TABLE.items()
    for interface in INTERFACES
    if isinstance(operation.at(interface), Offer)
]


def bounded() -> Iterator[tuple[str, Interface, str, float]]:
    """Each number of each operation at each interface that takes it, with a value beyond each of its bounds."""
    for name, interface in OFFERED:
        for offered in fields_at(TABLE[name], interface):
            for beyond in _beyond(offered):
                yield name, interface, offered.field, beyond


def _beyond(offered: OfferedField) -> Iterator[float]:
    def within(annotation: Any) -> Iterator[Any]:
        yield from getattr(annotation, "__metadata__", ())
        for part in getattr(annotation, "__args__", ()):
            yield from within(part)

    flat = [
        bound
        for part in (*offered.info.metadata, *within(offered.info.annotation))
        for bound in (part.metadata if hasattr(part, "metadata") else [part])
    ]
    for bound in flat:
        match bound:
            case annotated_types.Ge(ge=limit):
                yield cast("float", limit) - 1
            case annotated_types.Gt(gt=limit):
                yield cast("float", limit)
            case annotated_types.Le(le=limit):
                yield cast("float", limit) + 1
            case _:
                pass


def input_class(operation: Operation) -> type[DerivedInput]:
    """The GraphQL input of the operation."""
    (found,) = (
        kind
        for kind in vars(inputs).values()
        if inspect.isclass(kind) and issubclass(kind, DerivedInput) and getattr(kind, "operation", None) is operation
    )
    return found


def asked_at_cli(operation: Operation, given: Mapping[str, Any]) -> BaseModel:
    defaults = {offered.field: offered.default for offered in fields_at(operation, "cli")}
    return GivenOptions(operation, {**defaults, **given}).request(operation.request)


def asked_at_mcp(operation: Operation, given: Mapping[str, Any]) -> BaseModel:
    arguments = CATALOGUE[offer_at(operation, "mcp").name].arguments
    assert issubclass(arguments, DerivedArguments)
    names = {offered.field: to_camel(offered.name) for offered in fields_at(operation, "mcp")}
    return arguments.model_validate({names[name]: value for name, value in given.items()}).request(operation.request)


def asked_by_message(operation: Operation, given: Mapping[str, Any]) -> BaseModel:
    names = {offered.field: to_camel(offered.name) for offered in fields_at(operation, "message")}
    payload = cast("dict[str, JsonValue]", {names[name]: value for name, value in given.items()})
    found = payload_as(KINDS[offer_at(operation, "message").name].payload, payload, message="m")
    return found.request(operation.request)


def asked_by_graphql(operation: Operation, given: Mapping[str, Any]) -> BaseModel:
    names = {offered.field: offered.name for offered in fields_at(operation, "graphql")}
    made = input_class(operation)(**{names[name]: value for name, value in given.items()})
    return made.request(operation.request)


def asked_by_python(operation: Operation, given: Mapping[str, Any]) -> BaseModel:
    return operation.request(**given)


ASKED: Mapping[Interface, Callable[[Operation, Mapping[str, Any]], BaseModel]] = {
    "cli": asked_at_cli, "mcp": asked_at_mcp, "message": asked_by_message, "graphql": asked_by_graphql,
    "python": asked_by_python,
}  # fmt: skip


def test_every_operation_has_a_sample_and_its_module_what_a_row_promises() -> None:
    assert SAMPLES.keys() == TABLE.keys()
    for name, operation in TABLE.items():
        module = operation.load()
        assert operation.module.rpartition(".")[2] == name
        assert inspect.iscoroutinefunction(module.run), name
        assert hasattr(module, "estimate") is operation.dry_run, name
        assert hasattr(module, "start") is operation.long_running, name


@pytest.mark.parametrize("name", TABLE)
def test_every_field_has_a_description_without_a_full_stop_and_is_taken_or_left_out_with_a_reason(name: str) -> None:
    operation = TABLE[name]
    request = operation.request
    assert request.__doc__
    for field, info in request.model_fields.items():
        assert info.description, field
        assert not info.description.endswith("."), f"{field}: an interface adds the stop where it writes sentences"
    for interface in INTERFACES:
        offer = operation.at(interface)
        if isinstance(offer, str):
            assert offer, f"{name} is not offered at {interface}: say why"
            continue
        for said in (offer.left_out, offer.required, {field: why for field, (_, why) in offer.defaults.items()}):
            assert said.keys() <= request.model_fields.keys(), f"{name} at {interface}"
            assert all(said.values())
        assert offer.names.keys() <= request.model_fields.keys(), f"{name} at {interface}"
        without = {**LEFT_OUT.get(interface, {}), **offer.left_out}
        assert [one.field for one in fields_at(operation, interface)] == [
            field for field in request.model_fields if field not in without
        ]


@pytest.mark.parametrize(("name", "interface"), OFFERED)
def test_one_request_is_understood_alike_at_every_interface(name: str, interface: Interface) -> None:
    operation, sample = TABLE[name], SAMPLES[name]
    found = ASKED[interface](operation, sample).model_dump(mode="json", by_alias=False)
    expected = operation.request(**sample).model_dump(mode="json", by_alias=False)
    own = {field: default for field, (default, _) in offer_at(operation, interface).defaults.items()}
    own |= {
        field: default
        for field, default in DEFAULTS.get(interface, {}).items()
        if default is not None and field in operation.request.model_fields
    }
    assert found == {**expected, **own}


@pytest.mark.parametrize(("name", "interface", "field", "beyond"), [*bounded()])
def test_a_number_beyond_its_bounds_is_refused_at_every_interface_in_its_own_name(
    name: str, interface: Interface, field: str, beyond: float
) -> None:
    offered = next(one for one in fields_at(TABLE[name], interface) if one.field == field)
    with pytest.raises((ValidationError, EvalsError)) as refused:
        ASKED[interface](TABLE[name], {**SAMPLES[name], field: beyond})
    shown = {"cli": f"--{offered.name.rstrip('_').replace('_', '-')}", "python": offered.name}.get(
        interface, to_camel(offered.name)
    )
    assert shown in str(refused.value) or to_camel(offered.name) in str(refused.value)


@pytest.mark.parametrize("name", [name for name, interface in OFFERED if interface == "cli"])
def test_a_command_has_each_field_as_an_option_with_its_default_and_help(name: str) -> None:
    operation = TABLE[name]
    offer = offer_at(operation, "cli")
    words = offer.name.split()
    app = build(words)
    for word in words:
        app = app[word]
    options = {one.names[0]: one for one in app.assemble_argument_collection(parse_docstring=True) if one.names}
    for offered in fields_at(operation, "cli"):
        if offered.name.isupper():
            assert offered.name in {shown.upper() for shown in options}, f"{offered.name} is given by its position"
            continue
        option = options[f"--{offered.name.rstrip('_').replace('_', '-')}"]
        assert option.parameter.help == f"{offered.long.rstrip('.')}.", offered.field
        default = inspect.Parameter.empty if offered.required else None if offered.default == () else offered.default
        assert option.field_info.default == default, offered.field
        assert option.parameter.required is not True or offered.required


@pytest.mark.parametrize("name", [name for name, interface in OFFERED if interface == "mcp"])
def test_a_tool_has_each_field_with_its_bounds_and_description_and_what_follows_from_the_row(name: str) -> None:
    operation = TABLE[name]
    tool = offer_at(operation, "mcp").name
    arguments = CATALOGUE[tool].arguments
    assert issubclass(arguments, DerivedArguments)
    taken = {offered.name for offered in fields_at(operation, "mcp")}
    assert arguments.model_fields.keys() == taken | beside(operation)
    assert issubclass(arguments, WaitingArguments) is operation.long_running
    assert issubclass(arguments, Starting) is (operation.long_running and operation.dry_run)
    assert (tool in STARTING) is operation.long_running
    _agree(operation, "mcp", arguments)


@pytest.mark.parametrize("name", [name for name, interface in OFFERED if interface == "message"])
def test_a_payload_has_each_field_with_its_bounds_and_description(name: str) -> None:
    operation = TABLE[name]
    payload = KINDS[offer_at(operation, "message").name].payload
    assert payload.model_fields.keys() == {offered.name for offered in fields_at(operation, "message")}
    assert inspect.getdoc(payload) == inspect.getdoc(operation.request)
    _agree(operation, "message", payload)


def _agree(operation: Operation, interface: Interface, model: type[BaseModel]) -> None:
    """The model's fields have the bounds, the description and the default that the request's have."""
    for offered in fields_at(operation, interface):
        field = model.model_fields[offered.name]
        assert field.description == offered.short, offered.field
        assert field.default == offered.default or offered.required, offered.field
        if offered.default is not None and offered.limited is None:
            assert _schema(field.rebuild_annotation()) == _schema(offered.info.rebuild_annotation()), offered.field


def _schema(annotation: Any) -> dict[str, JsonValue]:
    schema = TypeAdapter(annotation).json_schema()
    return {name: part for name, part in schema.items() if name not in {"description", "$defs"}}


@pytest.mark.parametrize("name", [name for name, interface in OFFERED if interface == "graphql"])
def test_an_input_has_each_field_with_its_description(name: str) -> None:
    operation = TABLE[name]
    kind = input_class(operation)
    shown = cast("GraphQLInputObjectType", build_schema(graphql_schema().as_str()).type_map[kind.__name__]).fields
    expected = [to_camel(offered.name) for offered in fields_at(operation, "graphql")]
    assert {one for one in shown if one.removesuffix("Ref") not in expected} == set()
    for offered in fields_at(operation, "graphql"):
        field = shown[to_camel(offered.name)]
        assert isinstance(field.type, GraphQLNonNull) is offered.required
        if to_camel(offered.name + REF) not in shown:
            assert (field.description or "").startswith(offered.long.rstrip("."))


def test_a_rule_over_several_fields_is_told_in_the_names_of_each_interface() -> None:
    twice = {"test_case_id": "case", "branch_ids": ["a", "a"]}
    operation = TABLE["ab_test"]
    with pytest.raises(BadInputError, match=r"^--branch: a branch is named twice"):
        asked_at_cli(operation, twice)
    with pytest.raises(ValidationError, match="branchIds: a branch is named twice"):
        asked_at_mcp(operation, twice)
    with pytest.raises(EvalsError, match=r"payload\.branchIds.* a branch is named twice"):
        asked_by_message(operation, twice)
    with pytest.raises(BadInputError, match="branchIds: a branch is named twice"):
        asked_by_graphql(operation, twice)
    with pytest.raises(BadInputError, match=r"^CASE: give exactly one"):
        asked_at_cli(operation, {"branch_ids": ["a", "b"]})
