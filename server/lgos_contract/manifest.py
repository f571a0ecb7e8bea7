"""The LanggraphModel manifest as pydantic models: what the operator renders and what `lgos dev` serves.

The CRD in `crds/` says the same in OpenAPI and CEL; a test compares the two field by field. Field names are the
manifest's (camelCase); Python code reads the snake_case attributes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from lgos_contract.environment import ENV_PREFIX
from lgos_contract.overrides import forbidden_override

GROUP: Final = "lgos.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "LanggraphModel"
PLURAL: Final = "langgraphmodels"

GRAPH_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"
MODEL_NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$"
RESOURCE_NAME_PATTERN: Final = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
FORBIDDEN_OVERRIDE: Final = "forbidden_override"
"""Type of the validation error of a `podTemplate` that the platform cannot allow."""
RESOURCE_NAME_MAX: Final = 52
"""Services and pods are named after a model, with a suffix; 63 characters is Kubernetes' limit."""


class Document(BaseModel):
    """Base of everything a user writes: unknown fields are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )


class Open(Document):
    """A Kubernetes object that is passed on as it is; only the listed fields are looked at."""

    model_config = ConfigDict(extra="allow")


class Feature(StrEnum):
    """Optional abilities that a manifest can declare; the values are those of `GraphFeature`."""

    CLIENT_EVENTS = "client_events"
    INTERRUPTS = "interrupts"


class LocalObjectReference(Document):
    """A reference to an object in the model's namespace."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=253)]


class EnvVar(Open):
    """One environment variable of the model's containers, as in a pod."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    value: Annotated[str, StringConstraints(max_length=32768)] | None = None

    @field_validator("name")
    @classmethod
    def _not_reserved(cls, name: str) -> str:
        if name.startswith(ENV_PREFIX):
            msg = f"the prefix {ENV_PREFIX} is reserved"
            raise ValueError(msg)
        return name


class EnvFromSource(Open):
    """A Secret or ConfigMap whose keys become environment variables, as in a pod."""


class ResourceRequirements(Open):
    """Requests and limits of a container, as in a pod."""


class ScalingBehavior(Open):
    """How fast an autoscaler adds and removes pods, as in a HorizontalPodAutoscaler."""


class Autoscaling(Document):
    """A HorizontalPodAutoscaler instead of a fixed number of pods."""

    min_replicas: Annotated[int, Field(ge=1, le=1000)] = 1
    max_replicas: Annotated[int, Field(ge=1, le=1000)]
    target_cpu_utilization: Annotated[int, Field(alias="targetCPUUtilization", ge=1, le=1000)] = 80
    """Percent of the requested CPU."""
    behavior: ScalingBehavior | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Autoscaling:
        if self.min_replicas > self.max_replicas:
            msg = "minReplicas must not exceed maxReplicas"
            raise ValueError(msg)
        return self


class DisruptionBudget(Document):
    """How many pods a node drain may stop at once; only where at least two pods are wanted."""

    enabled: StrictBool = True
    max_unavailable: Annotated[int, Field(ge=1, le=1000)] = 1


class ApiComponent(Document):
    """The Deployment that answers the OpenAI API."""

    replicas: Annotated[int, Field(ge=0, le=1000)] | None = None
    """Absent without `autoscaling` means 1."""
    autoscaling: Autoscaling | None = None
    pod_disruption_budget: DisruptionBudget = Field(default_factory=DisruptionBudget)
    resources: ResourceRequirements | None = None
    drain_seconds: Annotated[int, Field(ge=0, le=86400)] = 25
    termination_grace_period_seconds: Annotated[int, Field(ge=1, le=90000)] = 40

    @model_validator(mode="after")
    def _grace_exceeds_drain(self) -> ApiComponent:
        if self.termination_grace_period_seconds <= self.drain_seconds:
            msg = "terminationGracePeriodSeconds must exceed drainSeconds"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _one_way_to_scale(self) -> ApiComponent:
        if self.replicas is not None and self.autoscaling is not None:
            msg = "replicas and autoscaling are mutually exclusive"
            raise ValueError(msg)
        return self

    @property
    def least_replicas(self) -> int:
        """The number of pods that are wanted at least."""
        if self.autoscaling is not None:
            return self.autoscaling.min_replicas
        return 1 if self.replicas is None else self.replicas


Labels = Annotated[
    dict[str, Annotated[str, StringConstraints(max_length=63)]], Field(max_length=64)
]
Annotations = Annotated[
    dict[str, Annotated[str, StringConstraints(max_length=8192)]], Field(max_length=64)
]


class PodMetadata(Document):
    """Labels and annotations that pods carry besides the platform's."""

    labels: Labels = Field(default_factory=dict)
    annotations: Annotations = Field(default_factory=dict)


class PodSpec(Open):
    """Parts of a pod's spec, laid over what the platform makes."""


class PodTemplate(Document):
    """An overlay over the pods: maps are merged, containers, volumes and variables by name, other lists replaced."""

    metadata: PodMetadata = Field(default_factory=PodMetadata)
    spec: PodSpec | None = None

    @model_validator(mode="after")
    def _nothing_forbidden(self) -> PodTemplate:
        pod = self.spec.model_dump(mode="json") if self.spec else {}
        problem = forbidden_override(self.metadata.labels, self.metadata.annotations, pod)
        if problem is not None:
            raise PydanticCustomError(FORBIDDEN_OVERRIDE, "{problem}", {"problem": problem})
        return self


class Exposure(Document):
    """Who can find the model."""

    register_model: Annotated[StrictBool, Field(alias="register")] = True
    """Whether the gateway lists and routes the model."""


def _unique(values: tuple[Feature, ...]) -> tuple[Feature, ...]:
    if len(set(values)) != len(values):
        msg = "features must not repeat"
        raise ValueError(msg)
    return values


class LanggraphModelSpec(Document):
    """`spec` of a LanggraphModel."""

    image: Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^\S+$")]
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], Field(max_length=8)] = ()
    graph: Annotated[str, StringConstraints(max_length=256, pattern=GRAPH_PATTERN)]
    model_name: (
        Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=MODEL_NAME_PATTERN)]
        | None
    ) = None
    description: Annotated[str, StringConstraints(max_length=1024)] | None = None
    features: Annotated[tuple[Feature, ...], Field(max_length=8), AfterValidator(_unique)] = ()
    settings: Annotated[dict[str, Any], Field(max_length=128)] = Field(default_factory=dict)
    unsupported_fields: Literal["Reject", "Ignore"] = "Reject"
    interrupt_retention_seconds: Annotated[int, Field(ge=60, le=31536000)] = 604800
    env: Annotated[tuple[EnvVar, ...], Field(max_length=128)] = ()
    env_from: Annotated[tuple[EnvFromSource, ...], Field(max_length=16)] = ()
    service_account_name: Annotated[str, StringConstraints(max_length=253)] | None = None
    api: ApiComponent = Field(default_factory=ApiComponent)
    pod_template: PodTemplate | None = None
    exposure: Exposure = Field(default_factory=Exposure)
    suspend: StrictBool = False

    @property
    def retention_seconds(self) -> int | None:
        """How long a paused run is kept; `None` for a model that cannot pause."""
        return self.interrupt_retention_seconds if Feature.INTERRUPTS in self.features else None

    @field_validator("env", "image_pull_secrets")
    @classmethod
    def _named_once(
        cls, values: tuple[EnvVar | LocalObjectReference, ...]
    ) -> tuple[EnvVar | LocalObjectReference, ...]:
        names = [value.name for value in values]
        if len(set(names)) != len(names):
            msg = "names must not repeat"
            raise ValueError(msg)
        return values


class ObjectMeta(Open):
    """The part of `metadata` that LGOS reads."""

    name: Annotated[
        str, StringConstraints(pattern=RESOURCE_NAME_PATTERN, max_length=RESOURCE_NAME_MAX)
    ]
    namespace: str | None = None


class LanggraphModel(Document):
    """A whole LanggraphModel manifest, as a file or the API server holds it."""

    model_config = ConfigDict(extra="ignore")

    api_version: Literal["lgos.dev/v1alpha1"]
    kind: Literal["LanggraphModel"]
    metadata: ObjectMeta
    spec: LanggraphModelSpec

    @property
    def model_id(self) -> str:
        """The public OpenAI `model`: `spec.modelName`, else `metadata.name`."""
        return self.spec.model_name or self.metadata.name
