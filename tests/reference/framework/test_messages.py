"""Messages beside pydrake's, byte for byte: their types, and what systems send and receive."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
from contact_scenes import add_ground, contact_library, hydroelastic, material

import merganser.framework.lcm.messages as our_messages

pytestmark = pytest.mark.reference

Build = Callable[[SimpleNamespace, Any, Any], Any]


def library(name: str) -> SimpleNamespace:
    """All names that a scene takes, with the types of messages."""
    ours = ("framework.lcm", "framework.primitives", "geometry", "geometry.perception", "geometry.sensors",
            "multibody.plant", "multibody.manipulation", "multibody.visualization",
            "framework.lcm.messages")  # fmt: skip
    theirs = ("common.value", "lcm", "systems.lcm", "systems.primitives", "perception", "systems.sensors",
              "manipulation", "visualization")  # fmt: skip
    root, modules = ("merganser", ours) if name == "ours" else ("pydrake", theirs)
    names = dict(vars(contact_library(name)))
    for module in modules:
        found = importlib.import_module(f"{root}.{module}")
        names |= {each: getattr(found, each) for each in dir(found)}
    if name != "ours":
        drake = importlib.import_module("drake")
        names |= {each: getattr(drake, each) for each in dir(drake) if each.startswith("lcmt_")}
    return SimpleNamespace(**names)


OURS, THEIRS = library("ours"), library("theirs")


# ---------------------------------------------------------------------- types


def fill(message: Any, random: np.random.Generator) -> None:
    """Sets all members of a message, of either library, to random values."""
    types = zip(type(message).__slots__, type(message).__typenames__, type(message).__dimensions__)
    for name, type_name, dimensions in types:
        if not dimensions:
            is_length = any(name in (other or []) for other in type(message).__dimensions__)
            setattr(message, name, int(random.integers(3)) if is_length else value(message, name, type_name, random))
        else:
            lengths = [n if isinstance(n, int) else getattr(message, n) for n in dimensions]
            setattr(message, name, array(message, name, type_name, lengths, random))


def value(message: Any, name: str, type_name: str, random: np.random.Generator) -> Any:
    if type_name.startswith("int") or type_name == "byte":
        return int(random.integers(100))
    if type_name in ("float", "double"):
        return float(np.float32(random.normal()))
    if type_name == "boolean":
        return bool(random.integers(2))
    if type_name == "string":
        return "".join(random.choice(list("aé中 "), size=3))
    library = OURS if type(message) is getattr(our_messages, type(message).__name__) else THEIRS
    inner = getattr(library, type_name.rpartition(".")[2])()
    fill(inner, random)
    return inner


def array(message: Any, name: str, type_name: str, lengths: list[int], random: np.random.Generator) -> Any:
    if type_name == "byte" and len(lengths) == 1:
        return random.bytes(lengths[0])
    if not lengths:
        return value(message, name, type_name, random)
    return [array(message, name, type_name, lengths[1:], random) for _ in range(lengths[0])]


@pytest.mark.parametrize("name", our_messages.__all__)
def test_a_type_is_the_same_to_the_last_byte(name: str) -> None:
    ours, theirs = getattr(OURS, name), getattr(THEIRS, name)
    assert ours._get_packed_fingerprint() == theirs._get_packed_fingerprint()
    assert ours.__slots__ == theirs.__slots__ and ours.__typenames__ == theirs.__typenames__
    assert ours().encode() == theirs().encode()
    constants = {each: value for each, value in vars(theirs).items() if each.isupper()}
    assert constants == {each: value for each, value in vars(ours).items() if each.isupper()}
    for seed in range(5):
        made = [kind() for kind in (ours, theirs)]
        for message in made:
            fill(message, np.random.default_rng(seed))
        data = made[0].encode()
        assert data == made[1].encode()
        assert ours.decode(data).encode() == data == theirs.decode(data).encode()


def test_all_types_of_drake_are_there() -> None:
    assert {name for name in vars(THEIRS) if name.startswith("lcmt_")} == set(our_messages.__all__)


# ---------------------------------------------------------------------- what is sent


def sent(lib: SimpleNamespace, build: Build, boundary: float) -> list[tuple[str, bytes]]:
    """Channels and messages of a simulation."""
    lcm, builder, got = lib.DrakeLcm("memq://"), lib.DiagramBuilder(), []
    lcm.SubscribeAllChannels(lambda channel, data: got.append((channel, data)))
    prepare = build(lib, builder, lcm)
    simulator = lib.Simulator(builder.Build())
    if prepare is not None:
        prepare(simulator.get_mutable_context())
    simulator.AdvanceTo(boundary)
    lcm.HandleSubscriptions(0)
    return got


def same(build: Build, boundary: float = 0.1) -> list[tuple[str, bytes]]:
    ours, theirs = (sent(lib, build, boundary) for lib in (OURS, THEIRS))
    assert [channel for channel, _ in ours] == [channel for channel, _ in theirs]
    assert len(ours) > 0
    assert ours == theirs
    return ours


def publish(lib: SimpleNamespace, builder: Any, lcm: Any, port: Any, name: str) -> None:
    """Sends the messages of a port every 0.05 s."""
    lcm_type = getattr(lib, name)
    publisher = builder.AddSystem(lib.LcmPublisherSystem.Make("A", lcm_type, lcm, 0.05, use_cpp_serializer=True))
    builder.Connect(port, publisher.get_input_port())


def connect_sources(lib: SimpleNamespace, builder: Any, system: Any, names: list[str]) -> None:
    """Gives some input ports vectors that are different for each."""
    for number, name in enumerate(names, 1):
        port = system.GetInputPort(name)
        source = builder.AddSystem(lib.ConstantVectorSource(0.25 * number + np.arange(port.size())))
        builder.Connect(source.get_output_port(), port)


SENDERS: dict[str, tuple[Callable[[SimpleNamespace], Any], list[str], str]] = {
    "iiwa command": (lambda lib: lib.IiwaCommandSender(), ["position", "torque"], "lcmt_iiwa_command"),
    "iiwa positions": (lambda lib: lib.IiwaCommandSender(), ["position", "time"], "lcmt_iiwa_command"),
    "iiwa torques": (
        lambda lib: lib.IiwaCommandSender(3, lib.IiwaControlMode.kTorqueOnly), ["torque"], "lcmt_iiwa_command",
    ),
    "iiwa status": (
        lambda lib: lib.IiwaStatusSender(),
        ["position_commanded", "position_measured", "torque_commanded"], "lcmt_iiwa_status",
    ),
    "iiwa full status": (
        lambda lib: lib.IiwaStatusSender(2),
        ["position_commanded", "position_measured", "velocity_estimated", "torque_commanded", "torque_measured",
         "torque_external", "time_measured"], "lcmt_iiwa_status",
    ),
    "panda command": (
        lambda lib: lib.PandaCommandSender(7, lib.PandaControlMode.kPosition | lib.PandaControlMode.kTorque),
        ["position", "torque"], "lcmt_panda_command",
    ),
    "panda status": (lambda lib: lib.PandaStatusSender(), ["position_measured", "torque_commanded"],
                     "lcmt_panda_status"),
    "panda full status": (
        lambda lib: lib.PandaStatusSender(3),
        ["position_commanded", "position_measured", "velocity_commanded", "velocity_measured",
         "acceleration_commanded", "torque_commanded", "torque_measured", "torque_external"], "lcmt_panda_status",
    ),
    "wsg command": (lambda lib: lib.SchunkWsgCommandSender(), ["position"], "lcmt_schunk_wsg_command"),
    "wsg limited command": (
        lambda lib: lib.SchunkWsgCommandSender(30.0), ["position", "force_limit"], "lcmt_schunk_wsg_command",
    ),
    "wsg status": (lambda lib: lib.SchunkWsgStatusSender(), ["u0"], "lcmt_schunk_wsg_status"),
    "wsg full status": (lambda lib: lib.SchunkWsgStatusSender(), ["u0", "u1"], "lcmt_schunk_wsg_status"),
}  # fmt: skip


@pytest.mark.parametrize("name", SENDERS)
def test_senders_of_robots(name: str) -> None:
    make, inputs, message = SENDERS[name]

    def build(lib: SimpleNamespace, builder: Any, lcm: Any) -> None:
        sender = builder.AddSystem(make(lib))
        connect_sources(lib, builder, sender, inputs)
        publish(lib, builder, lcm, sender.get_output_port(0), message)

    assert len(same(build)) == 3


def test_scopes() -> None:
    def build(lib: SimpleNamespace, builder: Any, lcm: Any) -> None:
        source = builder.AddSystem(lib.ConstantVectorSource([0.1, -2.0, 3.0]))
        lib.LcmScopeSystem.AddToBuilder(
            builder=builder, lcm=lcm, signal=source.get_output_port(), channel="S", publish_period=0.01
        )

    assert len(same(build)) == 11


@pytest.mark.parametrize("is_compressed", [False, True])
def test_images(is_compressed: bool) -> None:
    def build(lib: SimpleNamespace, builder: Any, lcm: Any) -> None:
        random = np.random.default_rng(3)
        to_lcm = builder.AddSystem(lib.ImageToLcmImageArrayT("color", "depth", "label", do_compress=is_compressed))
        kinds = (
            (lib.ImageRgba8U, to_lcm.color_image_input_port()),
            (lib.ImageDepth32F, to_lcm.depth_image_input_port()),
            (lib.ImageLabel16I, to_lcm.label_image_input_port()),
        )
        for kind, port in kinds:
            image = kind(6, 4)
            image.mutable_data[:] = random.integers(1, 100, size=image.shape)
            source = builder.AddSystem(lib.ConstantValueSource(lib.Value(image)))
            builder.Connect(source.get_output_port(0), port)
        publish(lib, builder, lcm, to_lcm.image_array_t_msg_output_port(), "lcmt_image_array")

    if not is_compressed:
        same(build)
        return
    # The level of compression is our own, so that pixels are compared.
    decoded = []
    for lib in (OURS, THEIRS):
        _, data = sent(lib, build, 0.0)[0]
        unpack, value = OURS.LcmImageArrayToImages(), OURS.Value(OURS.lcmt_image_array.decode(data))
        context = unpack.CreateDefaultContext()
        unpack.image_array_t_input_port().FixValue(context, value)
        decoded.append([unpack.get_output_port(i).Eval(context).data for i in range(3)])
    for ours, theirs in zip(*decoded):
        assert ours.size > 0 and np.array_equal(ours, theirs)


@pytest.mark.parametrize("fields", ["kXYZs", "kRGBs", "kNormals"])
def test_point_clouds(fields: str) -> None:
    def build(lib: SimpleNamespace, builder: Any, lcm: Any) -> None:
        random = np.random.default_rng(7)
        kinds = lib.BaseField.kXYZs
        if fields != "kXYZs":
            kinds = kinds | getattr(lib.BaseField, fields)
        cloud = lib.PointCloud(5, lib.Fields(kinds))
        cloud.mutable_xyzs()[:] = random.normal(size=(3, 5))
        cloud.mutable_xyzs()[1, 2] = np.nan
        if fields == "kRGBs":
            cloud.mutable_rgbs()[:] = random.integers(256, size=(3, 5))
        if fields == "kNormals":
            cloud.mutable_normals()[:] = random.normal(size=(3, 5))
        source = builder.AddSystem(lib.ConstantValueSource(lib.Value(cloud)))
        to_lcm = builder.AddSystem(lib.PointCloudToLcm(frame_name="camera"))
        builder.Connect(source.get_output_port(0), to_lcm.get_input_port())
        publish(lib, builder, lcm, to_lcm.get_output_port(), "lcmt_point_cloud")

    same(build)


# ---------------------------------------------------------------------- what viewers show


def shapes(lib: SimpleNamespace) -> list[Any]:
    return [
        lib.Sphere(0.1), lib.Box(0.1, 0.2, 0.3), lib.Cylinder(0.1, 0.2), lib.Capsule(0.1, 0.2),
        lib.Ellipsoid(0.1, 0.2, 0.3), lib.HalfSpace(),
    ]  # fmt: skip


@pytest.mark.parametrize("role", ["kIllustration", "kProximity", "kPerception"])
def test_scenes_of_all_shapes(role: str) -> None:
    def build(lib: SimpleNamespace, builder: Any, lcm: Any) -> None:
        plant, scene_graph = lib.AddMultibodyPlantSceneGraph(builder, time_step=0.01)
        body = plant.AddRigidBody("ball", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        for number, shape in enumerate(shapes(lib)):
            for onto in (body, plant.world_body()):
                X_BG = lib.RigidTransform(lib.RollPitchYaw(0.1 * number, 0.2, 0.3), [number, 1.0, 2.0])
                name = f"{number}_{onto.name()}"
                color = [0.125 * number, 0.5, 0.25, 1.0]
                plant.RegisterVisualGeometry(onto, X_BG, shape, name, color)
                if onto is body or not isinstance(shape, lib.HalfSpace):
                    plant.RegisterCollisionGeometry(onto, X_BG, shape, name, lib.CoulombFriction(0.5, 0.5))
        plant.set_gravity_enabled(plant.GetModelInstanceByName("DefaultModelInstance"), False)
        plant.Finalize()
        params = lib.DrakeVisualizerParams(
            publish_period=0.05, role=getattr(lib.Role, role), use_role_channel_suffix=role == "kProximity"
        )
        lib.DrakeVisualizer.AddToBuilder(builder, scene_graph, lcm, params)
        lib.DrakeVisualizer.DispatchLoadMessage(scene_graph, lcm, params)
        filters = scene_graph.collision_filter_manager()
        everything = lib.GeometrySet(scene_graph.model_inspector().GetAllGeometryIds())
        filters.Apply(lib.CollisionFilterDeclaration().ExcludeWithin(everything))

    ours, theirs = (sent(lib, build, 0.1) for lib in (OURS, THEIRS))
    assert [channel for channel, _ in ours] == [channel for channel, _ in theirs] and len(ours) == 8
    for (channel, our_data), (_, their_data) in zip(ours, theirs):
        kind = next((k for word, k in VIEWER_TYPES.items() if word in channel))
        assert_alike(kind.decode(our_data), kind.decode(their_data))


VIEWER_TYPES = {
    "LOAD": our_messages.lcmt_viewer_load_robot,
    "DRAW": our_messages.lcmt_viewer_draw,
    "DEFORMABLE": our_messages.lcmt_viewer_link_data,
    "CONTACT": our_messages.lcmt_contact_results_for_viz,
}


def assert_alike(ours: Any, theirs: Any, atol: float = 1e-6, where: str = "message") -> None:
    """Messages are the same, numbers to rounding (many are floats of 32 bits)."""
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs), where
        if ours and isinstance(ours[0], float):
            assert np.allclose(ours, theirs, rtol=1e-6, atol=atol), where
        else:
            for number, pair in enumerate(zip(ours, theirs)):
                assert_alike(*pair, atol, f"{where}[{number}]")
    elif hasattr(ours, "encode") and not isinstance(ours, str):
        for name in type(ours).__slots__:
            assert_alike(getattr(ours, name), getattr(theirs, name), atol, f"{where}.{name}")
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, rel=1e-6, abs=atol), where
    else:
        assert ours == theirs, where


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"publish_illustration": False},
        {"publish_proximity": False, "publish_period": 0.01},
        {"publish_contacts": False, "publish_inertia": False},
        {"lcm_bus": "other"},
    ],
)
def test_all_that_is_visualized(settings: dict[str, Any]) -> None:
    names = []

    def build(lib: SimpleNamespace, builder: Any, lcm: Any) -> None:
        plant, _ = lib.AddMultibodyPlantSceneGraph(builder, time_step=0.002)
        inertia = lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1)
        add_ground(lib, plant, material(lib), shape=lib.Box(4.0, 4.0, 1.0), height=-0.5)
        body = plant.AddRigidBody("ball", inertia)
        skin = hydroelastic(lib, 1e6, 0.1)
        plant.RegisterCollisionGeometry(body, lib.RigidTransform(), lib.Sphere(0.1), "skin", skin)
        look = lib.GeometryInstance(lib.RigidTransform(), lib.Sphere(0.1), "look")
        look.set_illustration_properties(lib.IllustrationProperties())  # has no color
        plant.RegisterVisualGeometry(body, look)
        plant.Finalize()
        config = lib.VisualizationConfig(
            enable_meshcat_creation=False, default_illustration_color=lib.Rgba(0.25, 0.5, 1.0),
            default_proximity_color=lib.Rgba(1.0, 0.5, 0.25), **settings,
        )  # fmt: skip
        buses = lib.LcmBuses()
        buses.Add("default", lib.DrakeLcm(lib.LcmBuses.kLcmUrlMemqNull))
        buses.Add("other", lcm)
        has_buses = "lcm_bus" in settings
        lib.ApplyVisualizationConfig(
            config, builder, lcm_buses=buses if has_buses else None, lcm=None if has_buses else lcm
        )
        names.append(sorted(system.get_name() for system in builder.GetSystems()))

    ours, theirs = (sent(lib, build, 0.02) for lib in (OURS, THEIRS))
    assert names[0] == names[1]
    assert [channel for channel, _ in ours] == [channel for channel, _ in theirs] and len(ours) >= 5
    for (channel, our_data), (_, their_data) in zip(ours, theirs):
        kind = next((k for word, k in VIEWER_TYPES.items() if word in channel))
        messages = [kind.decode(data) for data in (our_data, their_data)]
        if "LOAD" in channel:  # the vertices of meshes come in another order
            for geometry in (each for message in messages for link in message.link for each in link.geom):
                geometry.float_data = sorted(geometry.float_data)
        assert_alike(*messages)


@pytest.mark.parametrize("is_hydroelastic", [False, True])
def test_contact_results(is_hydroelastic: bool) -> None:
    def build(lib: SimpleNamespace, builder: Any, lcm: Any) -> None:
        plant, scene_graph = lib.AddMultibodyPlantSceneGraph(builder, time_step=0.01)
        properties = hydroelastic(lib, 1e6, 0.1) if is_hydroelastic else material(lib)
        add_ground(lib, plant, properties, shape=lib.Box(4.0, 4.0, 1.0), height=-0.5)
        inertia = lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1)
        body = plant.AddRigidBody("ball", inertia)
        plant.RegisterCollisionGeometry(body, lib.RigidTransform(), lib.Sphere(0.1), "skin", properties)
        plant.Finalize()
        lib.ConnectContactResultsToDrakeVisualizer(builder, plant, scene_graph, lcm=lcm, publish_period=0.05)
        return lambda context: plant.SetPositions(
            plant.GetMyMutableContextFromRoot(context), [1.0, 0.0, 0.0, 0.0, 0.01, 0.02, 0.0999]
        )

    ours, theirs = (sent(lib, build, 0.05) for lib in (OURS, THEIRS))
    assert [channel for channel, _ in ours] == [channel for channel, _ in theirs] == ["CONTACT_RESULTS"] * 2
    kind = our_messages.lcmt_contact_results_for_viz
    last = kind.decode(ours[-1][1])  # the first one shows the last step, and there has been none
    assert (last.num_point_pair_contacts, last.num_hydroelastic_contacts) == ((0, 1) if is_hydroelastic else (1, 0))
    for (_, our_data), (_, their_data) in zip(ours, theirs):
        mine, other = kind.decode(our_data), kind.decode(their_data)
        for message in (mine, other):
            for contact in message.hydroelastic_contacts:  # where a mesh begins is left to each library
                contact.p_WV = contact.pressure = contact.poly_data = ()
                contact.num_vertices = contact.poly_data_int_count = contact.num_quadrature_points = 0
                contact.quadrature_point_data = ()
        assert_alike(mine, other, atol=1e-5)


# ---------------------------------------------------------------------- what is received


def filled(name: str, **members: Any) -> Any:
    message = getattr(our_messages, name)()
    for member, content in members.items():
        setattr(message, member, content)
    return message


def iiwa_status(num_joints: int) -> Any:
    message = filled("lcmt_iiwa_status", utime=1_500_000, num_joints=num_joints)
    for number, member in enumerate(m for m in type(message).__slots__ if m.startswith("joint")):
        setattr(message, member, (0.5 * number + np.arange(num_joints)).tolist())
    return message


def panda_status(num_joints: int) -> Any:
    message = filled("lcmt_panda_status", utime=1_500_000, num_joints=num_joints)
    for number, member in enumerate(m for m in type(message).__slots__ if m.startswith("joint")):
        setattr(message, member, (0.5 * number + np.arange(num_joints)).tolist())
    return message


SEVEN = np.linspace(0.1, 0.7, 7).tolist()
RECEIVERS: dict[str, tuple[Callable[[SimpleNamespace], Any], Any]] = {
    "iiwa command": (
        lambda lib: lib.IiwaCommandReceiver(),
        filled("lcmt_iiwa_command", utime=2_000_000, num_joints=7, joint_position=SEVEN),
    ),
    "iiwa torques": (
        lambda lib: lib.IiwaCommandReceiver(7),
        filled(
            "lcmt_iiwa_command", utime=1, num_joints=7, joint_position=SEVEN, num_torques=7, joint_torque=SEVEN[::-1]
        ),
    ),
    "no iiwa command": (lambda lib: lib.IiwaCommandReceiver(), None),
    "iiwa status": (lambda lib: lib.IiwaStatusReceiver(), iiwa_status(7)),
    "no iiwa status": (lambda lib: lib.IiwaStatusReceiver(), None),
    "panda command": (
        lambda lib: lib.PandaCommandReceiver(7, lib.PandaControlMode.kVelocity | lib.PandaControlMode.kTorque),
        filled("lcmt_panda_command", utime=5, control_mode_expected=6, num_joint_velocity=7, joint_velocity=SEVEN,
               num_joint_torque=7, joint_torque=SEVEN[::-1]),
    ),
    "no panda command": (lambda lib: lib.PandaCommandReceiver(7, lib.PandaControlMode.kTorque), None),
    "panda status": (lambda lib: lib.PandaStatusReceiver(), panda_status(7)),
    "no panda status": (lambda lib: lib.PandaStatusReceiver(), None),
    "wsg command": (
        lambda lib: lib.SchunkWsgCommandReceiver(),
        filled("lcmt_schunk_wsg_command", utime=3, target_position_mm=40.0, force=25.0),
    ),
    "no wsg command": (lambda lib: lib.SchunkWsgCommandReceiver(0.03, 10.0), None),
    "nan wsg command": (
        lambda lib: lib.SchunkWsgCommandReceiver(),
        filled("lcmt_schunk_wsg_command", utime=3, target_position_mm=float("nan"), force=25.0),
    ),
    "wsg status": (
        lambda lib: lib.SchunkWsgStatusReceiver(),
        filled("lcmt_schunk_wsg_status", utime=3, actual_position_mm=40.0, actual_speed_mm_per_s=7.0, actual_force=2.0),
    ),
}  # fmt: skip


def received(lib: SimpleNamespace, make: Callable[[SimpleNamespace], Any], message: Any) -> dict[str, list[float]]:
    """The outputs of a receiver, by names of ports, in a simulation."""
    lcm, builder = lib.DrakeLcm("memq://"), lib.DiagramBuilder()
    receiver = builder.AddSystem(make(lib))
    port = receiver.get_input_port(0)
    name = {"Iiwa": "iiwa", "Pand": "panda", "Schu": "schunk_wsg"}[type(receiver).__name__[:4]]
    kind = "command" if "Command" in type(receiver).__name__ else "status"
    lcm_type = getattr(lib, f"lcmt_{name}_{kind}")
    subscriber = builder.AddSystem(lib.LcmSubscriberSystem.Make("A", lcm_type, lcm, use_cpp_serializer=True))
    builder.AddSystem(lib.LcmInterfaceSystem(lcm))
    builder.Connect(subscriber.get_output_port(), port)
    simulator = lib.Simulator(builder.Build())
    simulator.Initialize()
    if message is not None:
        lcm.Publish("A", message.encode())
    simulator.AdvanceTo(0.1)
    context = receiver.GetMyContextFromRoot(simulator.get_context())
    outputs = [receiver.get_output_port(i) for i in range(receiver.num_output_ports())]
    return {output.get_name(): output.Eval(context).tolist() for output in outputs}


@pytest.mark.parametrize("name", RECEIVERS)
def test_receivers_of_robots(name: str) -> None:
    ours, theirs = (received(lib, *RECEIVERS[name]) for lib in (OURS, THEIRS))
    assert ours == theirs and ours


# ---------------------------------------------------------------------- when


@pytest.mark.parametrize("period", [0.1, 0.03])
def test_messages_come_in_at_the_same_steps(period: float) -> None:
    def steps(lib: SimpleNamespace) -> tuple[list[float], int]:
        lcm, builder, times = lib.DrakeLcm("memq://"), lib.DiagramBuilder(), []
        builder.AddSystem(lib.LcmInterfaceSystem(lcm))
        sine = builder.AddSystem(lib.Sine(1.0, 2.0, 0.5, 1))
        integrator = builder.AddSystem(lib.Integrator(1))
        builder.Connect(sine.get_output_port(0), integrator.get_input_port())
        lib.LcmScopeSystem.AddToBuilder(builder, lcm, sine.get_output_port(0), "A", period)
        builder.AddSystem(lib.LcmSubscriberSystem.Make("A", lib.lcmt_scope, lcm))
        simulator = lib.Simulator(builder.Build())
        simulator.set_monitor(lambda context: times.append(context.get_time()))
        simulator.AdvanceTo(0.55)
        return times, simulator.get_num_steps_taken()

    ours, theirs = steps(OURS), steps(THEIRS)
    assert ours[1] == theirs[1] and ours[0] == pytest.approx(theirs[0], rel=1e-12)
