// The scene of a page, which the client of the package `meshcat` draws: commands by which the server sets it, what they
// share, and the few commands that this client does not know. Other files of this folder add to `commands`.

const viewer = new MeshCat.Viewer(document.getElementById("meshcat-pane")), THREE = MeshCat.THREE;
const element = name => document.getElementById(name), split = path => path.split("/").filter(part => part);
const node_at = path => viewer.scene_tree.find(split(path)), object_at = path => node_at(`${path}/<object>`).object;
const assets = {};
let decoded = null, queue = Promise.resolve();

const builtin = command => MeshCat.Viewer.prototype.handle_command.call(viewer, command);
viewer.handle_command = command => { decoded = command; };  // the client decodes, `handle` does it

// Parts of paths may be what all objects of JavaScript have, such as `constructor`.
const name_freely = node => { node.children = Object.assign(Object.create(null), node.children); };
const name_folders_freely = gui => { gui.__folders = Object.assign(Object.create(null), gui.__folders); };
{
  const Node = viewer.scene_tree.constructor, create = Node.prototype.create_child;
  Node.prototype.create_child = function (name) {
    const node = create.call(this, name);
    name_freely(node);
    name_folders_freely(node.folder);
    return node;
  };
  name_freely(viewer.scene_tree);
  name_folders_freely(viewer.scene_tree.folder);
}

const listeners = [];  // are called when a batch of commands has been done, with these
const commands = {
  asset: c => { assets[c.key] = c.data; },
  set_environment_map: c => {
    if (!c.picture) return set_environment(null);
    const texture = new THREE.TextureLoader().load(c.picture, () => viewer.set_dirty());
    texture.mapping = THREE.EquirectangularReflectionMapping;
    texture.encoding = THREE.sRGBEncoding;
    set_environment(texture);
  },
  set_property: c => {
    builtin(c);
    if (c.property === "color") {
      const materials = new Set();
      node_at(c.path).object.traverse(each => each.material && materials.add(each.material));
      materials.forEach(each => each.color?.convertSRGBToLinear());
    }
    if (c.property === "modulated_opacity") modulate(viewer.scene, 1);
    if (c.property === "surface_displacement") move_pictures(object_at(c.path), c.value);
  },
  set_animation: c => {
    frames_per_second = c.animations[0]?.clip.fps ?? frames_per_second;
    c.sequences.forEach(prepare_sequence);
    c.sliders.forEach(prepare_slider);
    builtin(c);
    show_playback();
  },
};

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
  const object = object_at(s.path), drawings = [];
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
    if (colors.length > 0) geometry.setAttribute("color", light_amounts(new THREE.BufferAttribute(colors, 3, true)));
    if (corners) geometry.setIndex(new THREE.BufferAttribute(corners, 1));
  };
  Object.defineProperty(object, "sequenceFrame", {configurable: true, get: () => current, set: i => {
    if (i !== current && object.geometry) show(drawings[current = i]);
  }});
};

// Puts assets in the places where they are referred to.
const resolve = value => {
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (value.asset !== undefined) return assets[value.asset];
  for (const name in value) value[name] = resolve(value[name]);
  return value;
};

// Puts an object at a path; the client would remove the controls of the last one twice.
const replace_object = (path, object) => {
  const node = node_at(`${path}/<object>`);
  node.controllers.splice(0).forEach(each => node.folder.remove(each));
  MeshCat.Viewer.prototype.set_object.call(viewer, split(path), object);
};

// Does a command; one that sets an object is done when its pictures are loaded.
const handle = command => new Promise((done, failed) => {
  const act = commands[command.type] ?? builtin;
  if (command.type !== "set_object") done(act(command));
  else {
    viewer.set_object = (path, object) => {
      delete viewer.set_object;
      replace_object(command.path, object);
      prepare_look(object);
      let factor = 1;
      object.traverseAncestors(folder => { factor *= folder.modulated_opacity ?? 1; });
      modulate(object, factor);
      if (object.parent?.surface_displacement) move_pictures(object, object.parent.surface_displacement);
      done();
    };
    act(command);
  }
});

// A batch is commands one after the other, each after its length (4 bytes, little-endian).
const receive = buffer => queue = queue.then(async () => {
  const done = [];
  for (let begin = 4, length; begin < buffer.byteLength; begin += length + 4) {
    length = new DataView(buffer).getUint32(begin - 4, true);
    try {
      viewer.handle_command_bytearray(new Uint8Array(buffer, begin, length));
      const command = resolve(decoded);
      await handle(command);
      done.push(command);
    } catch (error) {
      console.error("Meshcat: a command failed:", error);
    }
  }
  listeners.forEach(listener => listener(done));
  viewer.set_dirty();
});

