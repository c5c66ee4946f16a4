"""Files of contexts that are damaged or forged: refused by one type of exception, or harmless."""

from __future__ import annotations

import copy
import json
import random
import zipfile

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import (
    BasicVector,
    DiagramBuilder,
    LeafSystem,
    LoadContext,
    RandomDistribution,
    RandomGenerator,
    Value,
)
from merganser.framework.core.system import random_values
from merganser.framework.primitives import (
    AbstractLogSink,
    Adder,
    ConstantValueSource,
    Integrator,
    LogVectorOutput,
    RandomSource,
)


class Keeper(LeafSystem):
    """Has some of everything that a context can hold, and an input that is fixed."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("u", 2)
        self.DeclareAbstractInputPort("words", Value("words"))
        self.DeclareNumericParameter(BasicVector([1.0, 2.0]))
        self.DeclareDiscreteState([3.0])
        self.DeclareAbstractState(Value([1, 2.5, {"k": np.arange(3)}]))
        self.DeclareAbstractParameter(Value(RandomGenerator(2)))


def make_diagram():
    builder = DiagramBuilder()
    noise = builder.AddSystem(RandomSource(RandomDistribution.kGaussian, 2, 0.01))
    integrator, adder = builder.AddSystem(Integrator(2)), builder.AddSystem(Adder(1, 2))
    keeper, words = builder.AddSystem(Keeper()), builder.AddSystem(ConstantValueSource(Value("word")))
    sink = builder.AddSystem(AbstractLogSink(Value(""), 0.01))
    builder.Cascade(noise, integrator)
    builder.Cascade(integrator, adder)
    builder.Connect(words.get_output_port(), sink.get_input_port())
    log = LogVectorOutput(adder.get_output_port(), builder, 0.01)
    return builder.Build(), keeper, log


diagram, keeper, log = make_diagram()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A file, and its arrays and header."""
    path = tmp_path_factory.mktemp("saved") / "c.npz"
    simulator = Simulator(diagram)
    keeper.GetInputPort("u").FixValue(keeper.GetMyContextFromRoot(simulator.get_mutable_context()), [1.0, 2.0])
    keeper.GetInputPort("words").FixValue(keeper.GetMyContextFromRoot(simulator.get_mutable_context()), Value("w"))
    simulator.AdvanceTo(0.055)
    simulator.get_context().Save(path)
    arrays = dict(np.load(path))
    return path, arrays, json.loads(str(arrays.pop("header")))


def write(path, arrays, header):
    np.savez(path, header=np.array(json.dumps(header)), **arrays)


def objects(header, name):
    return [e["plain"] for e in header["abstract"] if isinstance(e["plain"], dict) and e["plain"].get("object") == name]


def array_names(header, name):
    """Names of the arrays in the state of the first saved object of a class."""
    return [item["array"] for item in objects(header, name)[0]["state"]["list"] if isinstance(item, dict)]


def change_array(name, change):
    def mutate(arrays, header):
        arrays[name] = change(arrays[name])

    return mutate


def change_state_array(kind, index, change):
    def mutate(arrays, header):
        name = array_names(header, kind)[index]
        arrays[name] = change(arrays[name])

    return mutate


def change_log(change):
    def mutate(arrays, header):
        for name in array_names(header, "VectorLog"):
            arrays[name] = change(arrays[name])

    return mutate


def set_position(value):
    def mutate(arrays, header):
        objects(header, "RandomGenerator")[0]["state"]["list"][1] = value

    return mutate


def replace_object(kind, value):
    def mutate(arrays, header):
        for entry in header["abstract"]:
            if isinstance(entry["plain"], dict) and entry["plain"].get("object") == kind:
                entry["plain"] = value

    return mutate


def set_header(name, value):
    return lambda arrays, header: header.__setitem__(name, value)


def set_fixed(index, place, value):
    return lambda arrays, header: header["fixed"][index].__setitem__(place, value)


DAMAGES = {
    "time of floats of 32 bits": (change_array("time", np.float32), "time: .*float32"),
    "time of integers": (change_array("time", np.int64), "time: .*int64"),
    "time as text": (change_array("time", lambda a: np.array("0.1")), "time: .*<U3"),
    "time as a vector": (change_array("time", lambda a: a.reshape(1)), r"time: .*\(1,\)"),
    "time that is not a number": (change_array("time", lambda a: np.array(np.nan)), "time: "),
    "time of complex numbers": (change_array("time", np.complex128), "numbers_0: .*complex128"),
    "no time": (lambda arrays, header: arrays.pop("time"), "time: "),
    "state of another size": (change_array("numbers_0", lambda a: a[:-1]), r"numbers_0: .*\(2,\).*\(1,\)"),
    "state of one number": (change_array("numbers_0", lambda a: a[0]), r"numbers_0: .*\(\)"),
    "state of integers": (change_array("numbers_1", np.int64), "numbers_1: .*int64"),
    "state of other bytes": (change_array("numbers_1", lambda a: a.astype(">f8")), "numbers_1: .*>f8"),
    "no state": (lambda arrays, header: arrays.pop("numbers_1"), "numbers_1"),
    "log of integers": (change_log(np.int64), "arrays of float64"),
    "log of floats of 32 bits": (change_log(np.float32), "arrays of float64"),
    "log of complex numbers": (change_log(np.complex128), "arrays of float64"),
    "log of text": (change_log(lambda a: a.astype("U8")), "arrays of float64"),
    "fewer times than samples": (change_state_array("VectorLog", 0, lambda a: a[:-1]), r"float64\(2, 6\)"),
    "samples of another size": (change_state_array("VectorLog", 1, lambda a: a[:1]), r"float64\(1, 6\)"),
    "samples in a row": (change_state_array("VectorLog", 1, np.ravel), r"float64\(12,\)"),
    "log that is a list": (replace_object("VectorLog", {"list": []}), "has a VectorLog"),
    "log that is a number": (replace_object("VectorLog", 3), "has a VectorLog"),
    "log that is another object": (replace_object("AbstractLog", {"object": "VectorLog", "state": 1}), "AbstractLog"),
    "times of an abstract log that are text": (
        lambda arrays, header: objects(header, "AbstractLog")[0]["state"]["list"][0]["list"].__setitem__(0, "0"),
        "are floats",
    ),
    "abstract log with a sample too few": (
        lambda arrays, header: objects(header, "AbstractLog")[0]["state"]["list"][1]["list"].pop(), "as many samples",
    ),
    "generator with fewer words": (change_state_array("RandomGenerator", 0, lambda a: a[:-1]), "624 words"),
    "generator with other words": (change_state_array("RandomGenerator", 0, np.int64), "624 words"),
    "generator in two rows": (change_state_array("RandomGenerator", 0, lambda a: a.reshape(2, -1)), "624 words"),
    "generator far outside": (set_position(100_000_000), "not at 100000000"),
    "generator just outside": (set_position(625), "not at 625"),
    "generator before its words": (set_position(-1), "not at -1"),
    "generator between words": (set_position(2.5), "not at 2.5"),
    "generator at True": (set_position(True), "not at True"),
    "generator that is text": (replace_object("RandomGenerator", "words"), "has a RandomGenerator"),
    "object instead of a plain value": (
        lambda arrays, header: header["abstract"][1].__setitem__("plain", {"object": "VectorLog", "state": 1}),
        "VectorLog",
    ),
    "array that is not there": (
        lambda arrays, header: header["abstract"][1].__setitem__("plain", {"array": "array_99"}), "array_99",
    ),
    "unknown kind of value": (lambda arrays, header: header["abstract"][1].__setitem__("plain", {"set": [1]}), "set"),
    "value of two kinds": (
        lambda arrays, header: header["abstract"][1].__setitem__("plain", {"list": [], "tuple": []}), "unpack",
    ),
    "unhashable key": (
        lambda arrays, header: header["abstract"][1].__setitem__("plain", {"dict": [[{"list": []}, 1]]}), "hash",
    ),
    "array of times": (
        lambda arrays, header: (
            arrays.__setitem__("array_99", np.zeros(2, "M8[s]")),
            header["abstract"][1].__setitem__("plain", {"array": "array_99"}),
        ),
        "datetime64",
    ),
    "abstract value too few": (lambda arrays, header: header["abstract"].pop(), "abstract: "),
    "no abstract values": (set_header("abstract", None), "abstract: "),
    "pickled value that is not there": (
        lambda arrays, header: header["abstract"].__setitem__(1, {"pickle": "pickle_0"}), "contains pickled values",
    ),
    "accuracy that is text": (set_header("accuracy", "high"), "accuracy: "),
    "negative accuracy": (set_header("accuracy", -1.0), "accuracy: "),
    "huge accuracy": (set_header("accuracy", 10**400), "accuracy: "),
    "no structure": (set_header("structure", None), "structure: "),
    "structure of numbers": (set_header("structure", [1, 2]), "structure: "),
    "fixed inputs are a number": (set_header("fixed", 7), "fixed: "),
    "fixed input of no subsystem": (set_fixed(0, 0, 99), "fixed input 0: .*subsystem 99"),
    "fixed input of a negative subsystem": (set_fixed(0, 0, -1), "fixed input 0: .*subsystem -1"),
    "fixed input of no port": (set_fixed(0, 1, 9), "fixed input 0: .*port 9"),
    "fixed input without value": (lambda arrays, header: header["fixed"][0].pop(), "fixed input 0: "),
    "text for a vector port": (set_fixed(0, 2, {"plain": "text"}), "fixed value of .*'u'"),
    "vector for an abstract port": (set_fixed(1, 2, {"vector": {"array": "numbers_0"}}), "fixed value of .*'words'"),
    "number for a vector port": (set_fixed(0, 2, {"vector": 1.0}), r"fixed value of .*float64 and shape \(2,\)"),
    "vector of another size": (set_fixed(0, 2, {"vector": {"array": "numbers_2"}}), "fixed value of"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_file_is_refused_by_file_and_entry(saved, tmp_path, name):
    _, arrays, header = saved
    arrays, header = dict(arrays), copy.deepcopy(header)
    mutate, message = DAMAGES[name]
    mutate(arrays, header)
    path = tmp_path / "damaged.npz"
    write(path, arrays, header)
    with pytest.raises(ValueError, match=rf"LoadContext: '{path}'(?s:.*){message}"):
        LoadContext(diagram, path)


def test_damaged_pickle_is_refused_by_file_and_entry(saved, tmp_path):
    _, arrays, header = saved
    header = copy.deepcopy(header)
    header["abstract"][1] = {"pickle": "pickle_0"}
    path = tmp_path / "damaged.npz"
    write(path, {**arrays, "pickle_0": np.frombuffer(b"\x80\x05nonsense", np.uint8)}, header)
    with pytest.raises(ValueError, match=f"LoadContext: '{path}' is damaged: abstract "):
        LoadContext(diagram, path, allow_pickle=True)


def test_bytes_and_entries_changed_at_random_are_refused_or_harmless(saved, tmp_path):
    """Six hundred files; those that are accepted take part in a simulation by compiled code, which writes into logs."""
    original, arrays, header = saved
    choice = random.Random(5)
    path = tmp_path / "fuzz.npz"
    accepted = refused = 0
    for number in range(600):
        if number % 2:
            write_with_other_bytes(choice, original, path)
        else:
            write_with_other_entries(choice, arrays, header, path)
        try:
            context = LoadContext(diagram, path)
        except ValueError as error:
            assert str(path) in str(error)
            refused += 1
            continue
        accepted += 1
        if accepted % 10 == 0 and 0.0 <= context.get_time() < 1.0:
            Simulator(diagram, context).AdvanceTo(context.get_time() + 0.1)
            assert log.FindLog(context).num_samples() >= 10
    assert refused > 300 and accepted > 50


def write_with_other_bytes(choice, original, path):
    data = bytearray(original.read_bytes())
    for _ in range(choice.randint(1, 4)):
        what, place = choice.randrange(4), choice.randrange(len(data))
        if what == 0:
            data[place] ^= 1 << choice.randrange(8)
        elif what == 1:
            data[place : place + choice.randrange(64)] = choice.randbytes(choice.randrange(64))
        elif what == 2:
            place = len(data) - choice.randrange(1, 600)  # the archive's table of contents
            data[place] = choice.randrange(256)
        elif choice.random() < 0.2:
            del data[place:]
            break
    path.write_bytes(data)


def write_with_other_entries(choice, arrays, header, path):
    arrays, header = dict(arrays), copy.deepcopy(header)
    for _ in range(choice.randint(1, 2)):
        if choice.random() < 0.5:
            name = choice.choice(sorted(arrays))
            arrays[name] = other_array(choice, arrays[name])
        else:
            change_node(choice, header)
    write(path, arrays, header)


def other_array(choice, array):
    what = choice.randrange(5)
    if what == 0:
        return array.astype(choice.choice(["f4", "i8", "c16", "U8", "u1", ">f8", "?"]))
    if what == 1:
        return np.ravel(array)[: choice.randrange(array.size + 1)]
    if what == 2:
        return np.full(array.shape, choice.choice([np.nan, np.inf, 1e308, -1, 0]))
    if what == 3:
        return np.zeros((choice.randrange(4), choice.randrange(700)), array.dtype)
    return np.array(array)


def change_node(choice, header):
    """Replaces, removes or doubles a node of a tree of lists and dictionaries."""
    node = header
    while True:
        places = sorted(node) if isinstance(node, dict) else range(len(node))
        place = choice.choice(places)
        if isinstance(node[place], (dict, list)) and node[place] and choice.random() < 0.85:
            node = node[place]
            continue
        break
    what = choice.randrange(4)
    if what == 0:
        del node[place]
    elif what == 1 and isinstance(node, list):
        node.append(copy.deepcopy(node[place]))
    else:
        node[place] = choice.choice(
            [None, True, -1, 0, 7, 2**70, 0.5, float("nan"), "", "list", [], {}, {"list": [1]}, {"array": "time"}]
        )


def test_array_with_objects_is_not_read(saved, tmp_path):
    _, arrays, header = saved
    path = tmp_path / "c.npz"
    np.savez(path, allow_pickle=True, header=np.array(json.dumps(header)), **{**arrays, "x": np.array([{}], object)})
    with pytest.raises(ValueError, match=f"'{path}' is not a saved context"):
        LoadContext(diagram, path)


def test_empty_archive_is_refused(tmp_path):
    path = tmp_path / "c.npz"
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(ValueError, match=f"'{path}' is not a saved context"):
        LoadContext(diagram, path)


def test_objects_that_could_not_be_put_back_are_not_saved(tmp_path):
    system = LeafSystem()
    system.DeclareAbstractState(Value([RandomGenerator(1)]))
    with pytest.raises(TypeError, match=r"holds an object of type RandomGenerator.*allow_pickle=True"):
        system.CreateDefaultContext().Save(tmp_path / "c.npz")


@pytest.mark.parametrize("known", [True, False])
def test_generators_are_copied_where_numpy_keeps_them_in_an_unknown_way(monkeypatch, known):
    for module in (random_values, "merganser.framework.primitives.random_numbers"):
        path = f"{module}.twister_is_known" if isinstance(module, str) else f"{module.__name__}.twister_is_known"
        monkeypatch.setattr(path, lambda: known)
    generator, other = RandomGenerator(3), RandomGenerator(4)
    generator()
    other.copy_from(generator)
    assert [other() for _ in range(700)] == [generator() for _ in range(700)]
    simulator = Simulator(diagram)
    simulator.AdvanceTo(0.1)
    samples = log.FindLog(simulator.get_context()).data()
    again = Simulator(diagram)
    again.AdvanceTo(0.1)
    assert samples.shape == (2, 11) and (samples == log.FindLog(again.get_context()).data()).all()


def test_layout_of_generators_in_memory_is_looked_at():
    random_values.twister_is_known.cache_clear()
    assert random_values.twister_is_known()
