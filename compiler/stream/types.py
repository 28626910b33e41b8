"""Types and attributes of the stream dialect: resources by lifetime, timepoints, files and bindings."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.constraints import TypeConstraint
from pyiree.compiler.ir.parametrized import DialectType, EnumAttr, Keyword
from pyiree.compiler.ir.types import ComplexType, FloatType, IndexType, IntegerType, Type

UNKNOWN, EXTERNAL, STAGING, TRANSIENT, VARIABLE, CONSTANT = (
    "*", "external", "staging", "transient", "variable", "constant",
)  # fmt: skip
LIFETIMES = (UNKNOWN, EXTERNAL, STAGING, TRANSIENT, VARIABLE, CONSTANT)


class ResourceType(DialectType, name="stream.resource"):
    """A range of device memory, by how long it lives.

    `*` not decided yet; `external` made or used outside; `staging` reached by host and device; `transient` within
    one piece of work; `variable` kept in a global and written; `constant` kept and never written.
    """

    lifetime: Keyword
    #: A size stands beside the type in shaped lists.
    is_sized = True

    def verify(self) -> None:
        if self.lifetime not in LIFETIMES:
            raise ValueError(f"'{self.lifetime}' is not a lifetime ({', '.join(LIFETIMES)})")

    def print_parameters(self, printer: Any) -> str:
        return f"<{self.lifetime}>"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        parser.parse_punctuation("<")
        lifetime = "*" if parser.parse_optional("*") else parser.parse_identifier("a lifetime")
        parser.parse_punctuation(">")
        return (Keyword(lifetime),)

    def with_lifetime(self, lifetime: str) -> ResourceType:
        """The type of the same memory with another lifetime."""
        return ResourceType(Keyword(lifetime))


class TimepointType(DialectType, name="stream.timepoint"):
    """A point in time at which work is done and what it guards may be used."""


class FileType(DialectType, name="stream.file"):
    """A file that resources are read from and written to."""


class BindingType(DialectType, name="stream.binding"):
    """A resource as a dispatch function sees it."""


class ResourceAccessAttr(EnumAttr, name="stream.resource_access"):
    """How a command uses a range: read, write, or both."""

    cases = ("ro", "wo", "rw")
    bare = True


def resource(lifetime: str = UNKNOWN) -> ResourceType:
    """The resource type of a lifetime."""
    return ResourceType(Keyword(lifetime))


def is_resource(type: Type) -> bool:
    """Whether a type is a resource of any lifetime."""
    return isinstance(type, ResourceType)


timepoint = TimepointType()

AnyResource = TypeConstraint("a stream resource", is_resource)
StagingResource = TypeConstraint(
    "a staging resource", lambda t: isinstance(t, ResourceType) and t.lifetime in (STAGING, UNKNOWN)
)
Primitive = TypeConstraint(
    "a number", lambda t: isinstance(t, IntegerType | FloatType | IndexType | ComplexType)
)
