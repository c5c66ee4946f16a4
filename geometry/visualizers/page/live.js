// A live simulation: the bar that controls it, whose state is the server's; the card of a clicked body; and dragging
// bodies by a spring. Names are put into the page as text: they may come from model files of others.

let simulation_time = 0, was_reset = false;  // since the camera looked for that
Object.assign(commands, {
  set_simulation: c => {
    element("simulation").hidden = !c.is_shown;
    show_panel();
    element("pause").classList.toggle("is-playing", !c.is_paused);
    const select = element("simulation-rate"), value = String(c.rate);
    if (![...select.options].some(option => option.value === value)) {
      select.append(made("option", {value, textContent: `${+c.rate.toFixed(2)}×`}));
    }
    select.value = value;
  },
  set_simulation_time: c => {
    was_reset ||= c.time < simulation_time;
    simulation_time = c.time;
    element("simulation-time").textContent = `${c.time.toFixed(3)} s`;
  },
});
const ask_simulation = action => report({type: "simulation", action});
// Shown at once: a second click comes before the server's word for the first one.
element("pause").onclick = () => ask_simulation(element("pause").classList.toggle("is-playing") ? "continue" : "pause");
for (const action of ["reset", "step", "stop"]) element(action).onclick = () => ask_simulation(action);
const change_rate = () => report({type: "simulation_rate", rate: Number(element("simulation-rate").value)});
element("simulation-rate").onchange = change_rate;

// ------------------------------------------------------------------ keys

// Of a simulation, or else of a recording; keys of a program's buttons and sliders come first.
const choose_next = (id, step, change) => {
  const select = element(id), speeds = [...select.options].map(each => Number(each.value) || Infinity);
  const order = speeds.map((_, i) => i).sort((a, b) => speeds[a] - speeds[b]), next = order[order.indexOf(select.selectedIndex) + step];
  if (next === undefined) return;
  select.selectedIndex = next;
  change();
};
const change_speed = step => element("simulation").hidden
  ? choose_next("speed", step, () => element("speed").onchange()) : choose_next("simulation-rate", step, change_rate);
const press = (of_simulation, of_recording) => {
  const id = [[of_simulation, "simulation"], [of_recording, "playback"]].find(([, bar]) => !element(bar).hidden)?.[0];
  if (id) element(id).click();
};
const own_keys = {
  " ": () => press("pause", "play"),
  "ArrowRight": () => press("step", "next-frame"),
  "Backspace": () => press("reset", "rewind"),
  "+": () => change_speed(1), "=": () => change_speed(1), "-": () => change_speed(-1),
  "f": () => element("fit").click(),
};
document.addEventListener("keydown", event => {
  const own = own_keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  const is_of_element = event.target.closest("input, select, textarea, button, summary, .bar") !== null;
  if (!own || is_of_element || event.ctrlKey || event.metaKey || event.altKey || Object.keys(keys[event.code] ?? {}).length) return;
  event.preventDefault();
  own();
});
// What has been clicked leaves the keys to the page.
document.addEventListener("click", event => { if (event.detail > 0) event.target.closest("button, summary")?.blur(); });
document.addEventListener("change", event => event.target.closest("select")?.blur());

// ------------------------------------------------------------------ the card of what is clicked

const cards = Object.create(null);  // by path: what is known of a thing
let shown_card = null;  // its path
commands.set_card = c => { cards[c.path] = c; };

// The path of the thing with a card that something belongs to; null without one.
const path_with_card = path => {
  for (let parts = split(path); parts.length > 0; parts.pop()) {
    const found = `/${parts.join("/")}`;
    if (found in cards) return found;
  }
  return null;
};
const X_WThing = path => {
  const {scene} = viewer, thing = node_at(path).object;
  scene.updateMatrixWorld();
  return scene.matrixWorld.clone().invert().multiply(thing.matrixWorld);
};
const with_sign = (x, digits) => (Math.abs(x) < 0.5 * 10 ** -digits ? 0 : x).toFixed(digits);

// Roll, pitch and yaw of a pose [rad]: turns about fixed x, y and z, in this order.
const rpy_of = X => {
  const e = new THREE.Euler().setFromRotationMatrix(new THREE.Matrix4().extractRotation(X), "ZYX");
  return [e.x, e.y, e.z];
};
const show_pose = () => {
  if (shown_card === null) return;
  const X = X_WThing(shown_card), texts = {
    position: new THREE.Vector3().setFromMatrixPosition(X).toArray().map(x => with_sign(x, 4)).join(", ") + " m",
    rpy: rpy_of(X).map(x => with_sign(x, 3)).join(", ") + " rad",
  };
  for (const name in texts) element(`card-${name}`).textContent = texts[name];
};
const show_card = path => {
  shown_card = path;
  element("card").hidden = path === null;
  if (path === null) return;
  const {title, rows} = cards[path], list = made("dl");
  const add = (name, value, id = "") => list.append(made("dt", {textContent: name}), made("dd", {textContent: value, id}));
  add("position", "", "card-position");
  add("roll, pitch, yaw", "", "card-rpy");
  for (const [name, value] of rows) add(name, value);
  element("card-content").replaceChildren(made("h2", {textContent: title}), list);
  show_pose();
};
before_drawing.push(show_pose);
element("close-card").onclick = () => show_card(null);

const STILL = 4;  // farthest move of a click that does not turn the camera [pixels]
{
  let pressed = null;
  const pane = element("meshcat-pane");
  pane.addEventListener("pointerdown", event => { pressed = event.button === 0 && !is_dragging_key(event) ? event : null; }, true);
  pane.addEventListener("pointerup", event => {
    const is_click = pressed && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) < STILL;
    pressed = null;
    if (!is_click) return;
    const found = pick(event.clientX, event.clientY);
    show_card(found && path_with_card(found.path));
  }, true);
}

// ------------------------------------------------------------------ dragging

// As in MuJoCo, with Ctrl (or the command key) held; the mouse moves in the plane through the point it has taken that is
// parallel to the picture.
const is_dragging_key = event => event.ctrlKey || event.metaKey;
const SPRING_RADIUS = 0.004;  // in radii of the model
const spring = new THREE.Mesh(new THREE.CylinderGeometry(1, 1, 1, 12), new THREE.MeshBasicMaterial({color: 0xd9480f}));
spring.name = "Spring";
NOT_MODEL.add(spring.name);
spring.visible = false;
viewer.scene.add(spring);
let can_drag = false, drag = null;  // drag: path, point (in the thing) and target (in W), the plane of the mouse

commands.enable_dragging = c => {
  can_drag = c.is_enabled;
  if (!can_drag) end_drag();
};
const report_drag = () => report({type: "drag", path: drag.path, point: drag.point.toArray(), target: drag.target.toArray()});
const end_drag = () => {
  if (drag === null) return;
  drag = null;
  spring.visible = false;
  report({type: "drag", path: ""});
  viewer.set_dirty();
};
const begin_drag = event => {
  const found = pick(event.clientX, event.clientY), path = found && path_with_card(found.path);
  if (path === null) return false;
  const target = new THREE.Vector3(...found.point), point = target.clone().applyMatrix4(X_WThing(path).invert());
  const normal = viewer.camera.getWorldDirection(new THREE.Vector3());
  const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, viewer.scene.localToWorld(target.clone()));
  drag = {path, point, target, plane};
  report_drag();
  viewer.set_dirty();
  return true;
};
{
  const pane = element("meshcat-pane");
  pane.addEventListener("pointerdown", event => {
    if (!can_drag || event.button !== 0 || !is_dragging_key(event) || !begin_drag(event)) return;
    event.stopPropagation();  // the camera stays
    event.preventDefault();
    pane.setPointerCapture(event.pointerId);
  }, true);
  pane.addEventListener("pointermove", event => {
    if (drag === null) return;
    event.stopPropagation();
    const place = ray_at(event.clientX, event.clientY).ray.intersectPlane(drag.plane, new THREE.Vector3());
    if (place === null) return;
    drag.target = viewer.scene.worldToLocal(place);
    report_drag();
    viewer.set_dirty();
  }, true);
  for (const type of ["pointerup", "pointercancel", "lostpointercapture"]) pane.addEventListener(type, end_drag, true);
  pane.addEventListener("contextmenu", event => { if (event.ctrlKey) event.preventDefault(); });
}
before_drawing.push(() => {
  if (drag === null) return;
  const begin = drag.point.clone().applyMatrix4(X_WThing(drag.path)), along = drag.target.clone().sub(begin), length = along.length();
  spring.visible = length > 0;
  if (!spring.visible) return;
  spring.position.copy(begin).addScaledVector(along, 0.5);
  spring.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.divideScalar(length));
  const radius = SPRING_RADIUS * (model?.radius ?? 1);
  spring.scale.set(radius, length, radius);
});
