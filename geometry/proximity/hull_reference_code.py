"""Hulls by reference (hull_reference.py), as numba knows them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
)

from merganser.geometry.proximity.hull_reference import HullsSample, by_reference


class HullsReference(types.Type):
    """Numba's type of the address of hulls, which have the attributes of hulls."""

    def __init__(self, hulls: Any) -> None:
        self.hulls = hulls
        super().__init__(name=f"HullsReference({hulls})")


@typeof_impl.register(HullsSample)
def _type_of_sample(sample: HullsSample, _context: Any) -> HullsReference:
    return HullsReference(typeof(sample.hulls))


@register_model(HullsReference)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, ir.IntType(8).as_pointer())


@infer_getattr
class _Attributes(AttributeTemplate):
    key = HullsReference

    # Numba's own annotation says that this returns NotImplemented, as the method of its base class does.
    def generic_resolve(self, value: Any, attr: str) -> Any:  # type: ignore[override]
        fields = value.hulls.fields
        return value.hulls.types[fields.index(attr)] if attr in fields else None


@lower_getattr_generic(HullsReference)
def _load_attribute(context: Any, builder: Any, reference: HullsReference, address: Any, name: str) -> Any:
    place = reference.hulls.fields.index(name)
    hulls = builder.bitcast(address, context.get_value_type(reference.hulls).as_pointer())
    array = builder.load(cgutils.gep_inbounds(builder, hulls, 0, place))
    return impl_ret_borrowed(context, builder, reference.hulls.types[place], array)


@type_callable(by_reference)
def _type_of_reference(_context: Any) -> Any:
    def type_of(hulls: Any) -> Any:
        return HullsReference(hulls)

    return type_of


@lower_builtin(by_reference, types.NamedTuple)
def _address(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
    return builder.bitcast(cgutils.alloca_once_value(builder, values[0]), ir.IntType(8).as_pointer())
