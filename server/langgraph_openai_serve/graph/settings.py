"""Runtime settings that a graph lets its clients choose, and their resolution for one request.

A graph names a `ClientSettings` subclass in `GraphConfig.client_settings`. A request carries changed values as a JSON
object in `metadata.lgos_settings`; they replace defaults top-level key by key (a nested object replaces the whole
default), and the complete result is validated. Nothing is kept between requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from langgraph_openai_serve.errors import ConfigurationError, RequestError

SETTINGS_KEY: Final = "lgos_settings"
SETTINGS_PARAM: Final = f"metadata.{SETTINGS_KEY}"
SETTINGS_SCHEMA_VERSION: Final = 1
JSON_SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class ClientSettings(BaseModel):
    """Base of a graph's public settings; every field needs a default, which is validated like any other value."""

    model_config = ConfigDict(extra="forbid", validate_default=True)


class SettingsResolver:
    """The settings of one registered graph: advertised descriptor and per-request resolution.

    Args:
        model: Public model id, for messages.
        kind: The graph's `ClientSettings` subclass.
        overrides: Values that the deployment lays over the class's defaults.

    Raises:
        ConfigurationError: A field has no default, or an override is invalid.
    """

    def __init__(
        self, model: str, kind: type[ClientSettings], overrides: Mapping[str, Any]
    ) -> None:
        self._kind = kind
        try:
            self._base = kind.model_validate(dict(overrides))
        except ValidationError as error:
            msg = f"settings of model '{model}' are invalid: {first_problem(error)}"
            raise ConfigurationError(msg) from error
        self.defaults = self._advertised(model)

    def _advertised(self, model: str) -> dict[str, Any]:
        """Return the defaults as JSON, which every request's values are laid over."""
        msg = f"defaults of model '{model}' change when they are sent as JSON and read again; use plain JSON types"
        try:
            defaults: dict[str, Any] = self._base.model_dump(
                mode="json", by_alias=True, round_trip=True
            )
            same = self._kind.model_validate_json(to_json(defaults)) == self._base
        except (ValidationError, PydanticSerializationError) as error:
            raise ConfigurationError(msg) from error
        if not same:
            raise ConfigurationError(msg)
        return defaults

    def descriptor(self) -> dict[str, Any]:
        """Return the `client_settings` object of a model: schema version, JSON Schema 2020-12, defaults."""
        schema = {"$schema": JSON_SCHEMA_DIALECT, **self._kind.model_json_schema()}
        return {
            "schema_version": SETTINGS_SCHEMA_VERSION,
            "json_schema": schema,
            "defaults": self.defaults,
        }

    def resolve(self, text: str | None) -> ClientSettings:
        """Return the settings of one request from its `lgos_settings` text.

        Raises:
            RequestError: The text is no JSON object or the merged settings are invalid.
        """
        if text is None:
            return self._base.model_copy(deep=True)
        try:
            supplied = from_json(text, allow_inf_nan=False)
        except ValueError as error:
            msg = "lgos_settings must be a JSON object in a string."
            raise RequestError(msg, param=SETTINGS_PARAM) from error
        if not isinstance(supplied, dict):
            msg = "lgos_settings must be a JSON object in a string."
            raise RequestError(msg, param=SETTINGS_PARAM)
        try:
            return self._kind.model_validate_json(to_json({**self.defaults, **supplied}))
        except ValidationError as error:
            msg = f"lgos_settings are invalid: {first_problem(error)}"
            raise RequestError(msg[:299], param=SETTINGS_PARAM) from error


def first_problem(error: ValidationError) -> str:
    """Return the first problem of a validation error as `field: what is wrong`."""
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(str(part) for part in problem["loc"]) or "the whole"
    return f"{field}: {problem['msg']}"
