// What is between the server and the client of the package `meshcat`, which draws, plays and has the controls: batches of
// commands and what they share, the few commands that the client does not know, keys, and reports to the server.

const viewer = new MeshCat.Viewer(document.getElementById("meshcat-pane")), THREE = MeshCat.THREE;
const element = name => document.getElementById(name), split = path => path.split("/").filter(part => part);
const assets = {}, keys = {}, reported = {};
viewer.gui_controllers = Object.create(null);  // or controls could not be named as what all objects have
let connection = null, decoded = null, queue = Promise.resolve();

const builtin = command => MeshCat.Viewer.prototype.handle_command.call(viewer, command);
viewer.handle_command = command => { decoded = command; };  // the client decodes, `handle` does it

const report = (message, only_changes = false) => {
  const text = JSON.stringify(message);
  if (connection === null || connection.readyState !== WebSocket.OPEN) return;
  if (only_changes && text === reported[message.type]) return;
  connection.send(reported[message.type] = text);
};

const commands = {
  asset: c => { assets[c.key] = c.data; },
  set_target: c => {
    const up = new THREE.Vector3(...c.up);
    if (up.distanceTo(viewer.camera.up) > 1e-9) {  // the controls read it when they are made
      viewer.camera.up.copy(up);
      viewer.controls.dispose();
      viewer.set_camera(viewer.camera);
    }
    viewer.controls.target.set(...c.value);
    viewer.controls.update();
  },
  realtime_rate: c => { element("rate").textContent = `real-time rate ${c.rate.toFixed(2)}`; },
  show_realtime_rate: c => { element("rate").style.display = c.show ? "block" : "none"; },
  set_environment_map: c => {
    const texture = c.picture ? new THREE.TextureLoader().load(c.picture, () => viewer.set_dirty()) : null;
    if (texture) texture.mapping = THREE.EquirectangularReflectionMapping;
    viewer.scene.environment = texture;
  },
  show_preview: c => {
    element("preview").style.display = c.picture ? "block" : "none";
    if (c.picture) element("preview").src = c.picture;
  },
  set_property: c => {
    builtin(c);
    if (c.property === "modulated_opacity") modulate(viewer.scene, 1);
  },
  set_control: c => {
    builtin(c);
    const control = viewer.gui_controllers[c.name], [key, other] = c.keycodes;
    const move = steps => control.setValue(Math.min(Math.max(control.getValue() + steps * c.step, c.min), c.max));
    bind_keys(c.name, c.step ? {[key]: () => move(-1), [other]: () => move(1)} : {[key]: () => control.fire()});
    viewer.gui.open();
  },
  delete_control: c => { builtin(c); bind_keys(c.name, {}); },
  set_animation: c => {
    c.sequences.forEach(prepare_sequence);
    c.sliders.forEach(prepare_slider);
    builtin(c);
    viewer.gui.open();
  },
};

const bind_keys = (name, presses) => {
  Object.values(keys).forEach(bound => delete bound[name]);
  for (const code in presses) if (code) (keys[code] ??= {})[name] = presses[code];
};
document.addEventListener("keydown", event => {
  if (event.target.tagName !== "INPUT") Object.values(keys[event.code] ?? {}).forEach(press => press());
});

// Multiplies the opacity of each material by those of the folders it is in.
const modulate = (object, factor) => {
  factor *= object.modulated_opacity ?? 1;
  const material = object.material;
  if (material && (factor !== 1 || material.userData.opacity !== undefined)) {
    material.userData.opacity ??= material.opacity;
    material.opacity = factor * material.userData.opacity;
    material.transparent = material.opacity < 1;
  }
  object.children.forEach(child => modulate(child, factor));
};

// Takes a recorded sequence apart (sequence.py), and has the object at its path show drawing i when its property
// `sequenceFrame`, which the animation sets, becomes i.
const prepare_sequence = s => {
  const object = viewer.scene_tree.find([...split(s.path), "<object>"]).object, drawings = [];
  let vertex = 0, index = 0, steps = [], corners = null, current = -1;
  s.vertexCounts.forEach((count, i) => {
    const range = [3 * vertex, 3 * (vertex += count)], differences = s.steps.slice(...range);
    steps = steps.length === differences.length ? differences.map((d, j) => d + steps[j]) : differences;
    if (s.indexCounts[i] > 0) corners = s.indices.slice(index, index += s.indexCounts[i]);
    drawings.push({steps, corners, colors: s.colors.slice(...range)});
  });
  const show = ({steps, corners, colors}) => {
    object.geometry.dispose();
    const geometry = object.geometry = new THREE.BufferGeometry();
    const positions = Float32Array.from(steps, (n, j) => s.low[j % 3] + s.step[j % 3] * n);
    geometry.setAttribute("position", new THREE.BufferAttribute(positions, 3));
    if (colors.length > 0) geometry.setAttribute("color", new THREE.BufferAttribute(colors, 3, true));
    if (corners) geometry.setIndex(new THREE.BufferAttribute(corners, 1));
  };
  Object.defineProperty(object, "sequenceFrame", {configurable: true, get: () => current, set: i => {
    if (i !== current && object.geometry) show(drawings[current = i]);
  }});
};

// Has a recorded slider follow the animation, which sets a property of the scene, in a page without a server.
const prepare_slider = ({name, min, max, step}, i) => {
  const is_alone = connection === null;
  if (is_alone) commands.set_control({type: "set_control", name, callback: "() => {}", value: min, min, max, step, keycodes: []});
  Object.defineProperty(viewer.scene, `slider${i}`, {configurable: true, get: () => min, set: value => {
    if (is_alone) viewer.gui_controllers[name].setValue(value);
  }});
};

// Puts assets in the places where they are referred to.
const resolve = value => {
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (value.asset !== undefined) return assets[value.asset];
  for (const name in value) value[name] = resolve(value[name]);
  return value;
};

// Does a command; one that sets an object is done when its pictures are loaded.
const handle = command => new Promise((done, failed) => {
  const act = commands[command.type] ?? builtin;
  if (command.type !== "set_object") done(act(command));
  else {
    const node = viewer.scene_tree.find([...split(command.path), "<object>"]);
    node.controllers.splice(0).forEach(each => node.folder.remove(each));  // or the client removes them twice
    viewer.set_object = (path, object) => {
      delete viewer.set_object;
      viewer.set_object(path, object);
      modulate(viewer.scene, 1);
      done();
    };
    act(command);
  }
});

// A batch is commands one after the other, each after its length (4 bytes, little-endian).
const receive = buffer => queue = queue.then(async () => {
  for (let begin = 4, length; begin < buffer.byteLength; begin += length + 4) {
    length = new DataView(buffer).getUint32(begin - 4, true);
    try {
      viewer.handle_command_bytearray(new Uint8Array(buffer, begin, length));
      await handle(resolve(decoded));
    } catch (error) {
      console.error("Meshcat: a command failed:", error);
    }
  }
  viewer.set_dirty();
});

const connect = () => {
  let was_open = false;
  const open = () => {
    connection = new WebSocket(location.href.replace(/^http/, "ws").replace(/[^/]*$/, ""));
    connection.binaryType = "arraybuffer";
    connection.onmessage = event => receive(event.data);
    connection.onopen = () => { if (was_open) location.reload(); was_open = true; };
    connection.onclose = () => { element("status").style.display = "block"; setTimeout(open, 1000); };
  };
  const tracks_camera = new URLSearchParams(location.search).get("tracked_camera");
  const tell = () => {
    requestAnimationFrame(tell);
    const pad = [...navigator.getGamepads?.() ?? []].find(each => each?.connected), rounded = x => Math.round(100 * x) / 100;
    const gamepad = pad ? {index: pad.index, button_values: pad.buttons.map(b => rounded(b.value)), axes: pad.axes.map(rounded)} : {};
    if (pad || reported.gamepad) report({type: "gamepad", gamepad}, true);
    const {matrixWorld, isPerspectiveCamera} = viewer.camera;
    if (tracks_camera) report({type: "camera_pose", camera_pose: matrixWorld.elements, is_perspective: !!isPerspectiveCamera}, true);
  };
  open();
  tell();
};

// Pages without a server: all batches are in the page (base64 of gzip), or in files beside it.
const unpack = async text => {
  const zipped = await (await fetch(`data:application/gzip;base64,${text}`)).blob();
  receive(await new Response(zipped.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
};
const load = async files => {
  for (const file of files) await receive(await (await fetch(file)).arrayBuffer());
};
