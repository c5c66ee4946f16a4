// Where the model is, and a camera that shows all of it from the front at three quarters, until a program or a user says
// otherwise; and what is at a point of the picture.

const VIEW_FROM = new THREE.Vector3(0.78, -0.92, 0.52).normalize();  // in W
const OPENING = 35, OPENING_OF_PROGRAMS = 75;  // of the camera, upwards [degrees]
const MARGIN = 1.18;  // of the picture around the model
const SAME = 1.25;  // ratio of sizes, below which a model counts as the one that was shown
const FLOOR = 6;  // a body so many times as wide as all else together is the floor, if it is flat
const SHEET = 1;  // the same of one without thickness, as a plane of MJCF
const NEAR = 2;  // of what is fixed to the world, that belongs to the model which is so many of its radii around its center
const DROP = 4;  // radii of a model above the ground, from where it is seen with what is below
const FAR = 30;  // radii of a model from its first place, up to which its motion in a recording is shown
const SAMPLES = 32;  // of a recording, for which its motion is looked at
const NOT_MODEL = new Set(["Background", "Lights", "Grid", "Axes", "Cameras"]), HELPERS = ["contact_forces", "_frames"];

let motion = null;  // the box in W around what moves in a recording
let model = null, is_camera_mine = true, is_untouched = true, shown_radius = null, shown_center = null;
const has_model = () => model !== null;

// Calls a function with each mesh that is seen, what helps to see it apart, and with whether it is fixed to the world.
const each_mesh = (object, visit, path = `/${object.name}`, is_above_fixed = false) => {
  if (!object.visible || HELPERS.includes(object.name)) return;
  const is_fixed = is_above_fixed || object.is_fixed === true || cards[path]?.is_fixed === true;
  if (object.isMesh && object.geometry?.attributes?.position?.count > 0) visit(object, is_fixed);
  object.children.forEach(child => each_mesh(child, visit, `${path}/${child.name}`, is_fixed));
};

// The box along the axes of W around a box that is moved there.
const box_in_W = (box, matrix) => {
  const {min, max} = box, m = matrix.elements, found = new THREE.Box3();
  const center = [min.x + max.x, min.y + max.y, min.z + max.z], size = [max.x - min.x, max.y - min.y, max.z - min.z];
  for (let i = 0; i < 3; i++) {
    let middle = m[12 + i], half = 0;
    for (let j = 0; j < 3; j++) {
      middle += m[4 * j + i] * center[j] / 2;
      half += Math.abs(m[4 * j + i]) * size[j] / 2;
    }
    found.min.setComponent(i, middle - half);
    found.max.setComponent(i, middle + half);
  }
  return found;
};

// The boxes in W around all meshes that are seen, as they are now, or were in the last picture.
const boxes_of_meshes = (is_now = true) => {
  if (is_now) viewer.scene.updateMatrixWorld();
  const X_WWorld = viewer.scene.matrixWorld.clone().invert(), X_WMesh = new THREE.Matrix4(), found = [];
  for (const root of viewer.scene.children) {
    if (root === ground_shadow.square || NOT_MODEL.has(root.name)) continue;
    each_mesh(root, (mesh, is_fixed) => {
      if (!mesh.geometry.boundingBox) mesh.geometry.computeBoundingBox();
      const box = box_in_W(mesh.geometry.boundingBox, X_WMesh.multiplyMatrices(X_WWorld, mesh.matrixWorld));
      if (Number.isFinite(box.min.x + box.max.x)) found.push({mesh, box, is_fixed});
    });
  }
  return found;
};

const union = list => list.reduce((all, each) => all.union(each.box), new THREE.Box3());
const extent = box => Math.max(box.max.x - box.min.x, box.max.y - box.min.y);
const is_thin = (box, part) => box.max.z - box.min.z < part * extent(box);
const sphere_of = box => box.getBoundingSphere(new THREE.Sphere());
const farthest_from = (point, box) => new THREE.Vector3(...["x", "y", "z"].map(axis =>
  Math.max(Math.abs(box.min[axis] - point[axis]), Math.abs(box.max[axis] - point[axis])))).length();

// What is fixed to the world, parted by whether it belongs to a model, as the foot of an arm, or surrounds it, as walls.
const part_fixed = (fixed, box) => {
  const {center, radius} = sphere_of(box), is_floor = each => is_thin(each.box, 0.15) && extent(each.box) > extent(box);
  const near = fixed.filter(each => farthest_from(center, each.box) < NEAR * radius && !is_floor(each));
  return {near, around: fixed.filter(each => !near.includes(each))};
};

// The model: the box around what moves, the floors that it stands on, what else surrounds it, and the height of the ground,
// unless that is known. Where nothing is said to be fixed, all counts as what moves.
const find_model = (known_level = null, is_now = true) => {
  const all = boxes_of_meshes(is_now), is_half_space = each => each.mesh.geometry.type === "PlaneGeometry";
  const solid = all.filter(each => !is_half_space(each)), floors = all.filter(is_half_space);
  const moving = solid.filter(each => !each.is_fixed), found = moving.length > 0 ? moving : solid;
  found.sort((a, b) => extent(a.box) - extent(b.box));
  while (found.length > 1) {
    const last = found[found.length - 1], factor = is_thin(last.box, 1e-6) ? SHEET : FLOOR;
    if (!is_thin(last.box, 0.15) || extent(last.box) < factor * extent(union(found.slice(0, -1)))) break;
    floors.push(found.pop());
  }
  if (found.length === 0) return null;
  const box = union(found), fixed = moving.length > 0 ? solid.filter(each => each.is_fixed) : [];
  const {near, around} = part_fixed(fixed, box), middle = box.getCenter(new THREE.Vector3());
  box.union(union(near));
  const is_below = each => is_thin(each.box, 0.15) && each.box.clone().expandByVector({x: 0, y: 0, z: 1e9}).containsPoint(middle);
  floors.push(...around.filter(is_below));
  if (motion) box.union(motion);
  const {radius} = sphere_of(box);
  if (!(radius > 0)) return null;
  const heights = floors.map(floor => floor.box.max.z).filter(height => height <= box.max.z);
  const level = known_level ?? (heights.length ? Math.max(...heights) : box.min.z < -0.02 * radius ? box.min.z : 0);
  const meshes = list => new Set(list.map(each => each.mesh));
  return {box, radius, level, center: box.getCenter(new THREE.Vector3()), has_floor: heights.length > 0, floors: meshes(floors), around: meshes(around)};
};

// The box around what moves in a recording, which is played for that; it ends where it began.
const see_motion = () => {
  const {animator} = viewer, {actions, duration, playing} = animator;
  motion = null;
  if (!(duration > 0)) return;
  const first = find_model(), {center, radius} = first ?? {};
  if (!playing) actions.forEach(action => action.play());
  for (let i = 0; first !== null && i <= SAMPLES; i++) {
    animator.seek(duration * i / SAMPLES);
    const box = find_model()?.box;
    if (!box || farthest_from(center, box) > FAR * radius) break;
    motion = (motion ?? box).clone().union(box);
  }
  if (!playing) actions.forEach(action => action.stop());
  animator.reset();
  if (playing) animator.play();
};

// A length of 1, 2 or 5 times a power of ten, not below another.
const round_length = length => {
  const unit = 10 ** Math.floor(Math.log10(length));
  return unit * [1, 2, 5, 10].find(factor => factor * unit >= 0.999 * length);
};

// Has all that depends on where the model is follow it. While nothing is drawn or hidden, the ground stays where it is.
const see_model = (is_new = true) => {
  const found = find_model(is_new ? null : model?.level, is_new);
  if (found === null) return null;
  const is_grown = model === null || found.radius > model.radius || found.radius < 0.5 * model.radius ||
    !model.box.containsBox(found.box) || found.level !== model.level;
  if (is_grown) {
    model = {...found, box: found.box.clone().expandByScalar(0.15 * found.radius), radius: 1.15 * found.radius};
    light_model(model.box, model.level);
    const cell = round_length(found.radius / 3), grid = object_at("/Grid"), axes = object_at("/Axes");
    grid.scale?.setScalar(20 * cell);
    grid.position?.set(0, 0, model.level);
    if (axes.isLine) axes.scale.setScalar(Math.min(1, found.radius));
  }
  if (is_new) note_casters(found.floors, found.around);
  return found;
};

// The part of the picture's half height that bars at its bottom cover.
const covered = () => ["simulation", "playback"].filter(id => !element(id).hidden).length * 60 / Math.max(viewer.dom_element.clientHeight, 300);

// The least distance from a center from which all corners of a box are in the picture, above its bars.
const distance_to_see = (box, center, from, camera) => {
  const up = new THREE.Vector3(0, 0, 1), right = up.clone().cross(from).normalize(), across = from.clone().cross(right);
  const tan = Math.tan(camera.fov * Math.PI / 360) / MARGIN, tan_up = tan * (1 - covered()), tan_right = tan * camera.aspect;
  let distance = 0;
  for (let corner = 0; corner < 8; corner++) {
    const p = new THREE.Vector3(...["x", "y", "z"].map((axis, i) => box[corner >> i & 1 ? "max" : "min"][axis])).sub(center);
    distance = Math.max(distance, p.dot(from) + Math.max(Math.abs(p.dot(right)) / tan_right, Math.abs(p.dot(across)) / tan_up));
  }
  return distance;
};

const fit_camera = () => {
  const {camera, scene} = viewer, found = find_model(model?.level);
  if (found === null || !camera.isPerspectiveCamera || !camera.parent) return;
  if (is_camera_mine && camera.fov === OPENING_OF_PROGRAMS) camera.fov = OPENING;
  const box = found.box.clone(), height = box.min.z - found.level;
  if (found.has_floor && height > 0 && height < DROP * found.radius) box.min.z = found.level;  // it may fall
  const {radius} = found, center = box.getCenter(new THREE.Vector3()), distance = distance_to_see(box, center, VIEW_FROM, camera);
  const up = new THREE.Vector3(0, 0, 1).addScaledVector(VIEW_FROM, -VIEW_FROM.z).normalize();
  center.addScaledVector(up, -covered() * distance * Math.tan(camera.fov * Math.PI / 360));
  const place = camera.parent.worldToLocal(scene.localToWorld(center.clone().addScaledVector(VIEW_FROM, distance)));
  camera.position.copy(place);
  camera.near = distance / 500;
  camera.far = Math.max(100, 20 * (distance + radius));
  viewer.controls.target.copy(scene.localToWorld(center.clone()));
  viewer.controls.update();
  [shown_radius, shown_center] = [radius, found.center];
  viewer.set_dirty();
};

// From now on the camera is where a program has put it.
const leave_camera = () => {
  if (!is_camera_mine) return;
  is_camera_mine = false;
  if (viewer.camera.isPerspectiveCamera && viewer.camera.fov === OPENING) viewer.camera.fov = OPENING_OF_PROGRAMS;
  look_from_first_place();
};

// Where the camera is at the beginning, while there is no model.
let first_place = [0, 1, 3];  // in the client's world, with y upwards
const look_from_first_place = () => {
  viewer.camera.position.set(...first_place);
  look_at({value: [0, 0, 0], up: [0, 1, 0]});
};

// The camera is as at the beginning: the whole model is seen, if there is one.
const begin_with_camera_at = place => {
  first_place = place;
  look_from_first_place();
  [is_camera_mine, is_untouched, shown_radius, drawn_at] = [true, true, null, performance.now()];
};

const look_at = c => {
  const up = new THREE.Vector3(...c.up);
  if (up.distanceTo(viewer.camera.up) > 1e-9) {  // the controls read it when they are made
    viewer.camera.up.copy(up);
    viewer.set_camera(viewer.camera);
  }
  viewer.controls.target.set(...c.value);
  viewer.controls.update();
};

const RECENTLY = 500, SELDOM = 500;  // [ms]: after things were drawn; between looks at what only moves
let drawn_at = -RECENTLY, seen_at = -SELDOM, was_empty = false;
const is_in_picture = (point, part = 1) => {
  viewer.camera.updateWorldMatrix(true, false);  // it may have moved since the last picture
  const seen = viewer.scene.localToWorld(point.clone()).project(viewer.camera);
  return Math.max(Math.abs(seen.x), Math.abs(seen.y)) < part && Math.abs(seen.z) < 1;
};
listeners.push(done => {
  const now = performance.now(), has = type => done.some(c => c.type === type), is_new = ["set_object", "delete", "set_property", "set_card", "set_animation"].some(has);
  if (has("set_object") || has("set_animation")) drawn_at = now;
  if (has("set_animation")) see_motion();
  const is_back = was_reset;  // a simulation is at its start again
  was_reset = false;
  if (!is_new && !is_back && has_model() && now - seen_at < SELDOM && now - drawn_at > RECENTLY) return;
  seen_at = now;
  const found = see_model(is_new);
  if (found === null || !is_camera_mine) return;
  const is_other = shown_radius === null || found.radius > SAME * shown_radius || shown_radius > SAME * found.radius ||
    found.center.distanceTo(shown_center) > 0.5 * found.radius;
  if (is_other && now - drawn_at < RECENTLY && (is_untouched || was_empty || shown_radius === null)) fit_camera();
  else if (is_back && (is_untouched || !is_in_picture(found.center, 0.7))) fit_camera();
  was_empty = false;
});

Object.assign(commands, {
  set_target: c => { leave_camera(); look_at(c); },
  set_transform: c => {
    if (c.path.startsWith("/Cameras")) leave_camera();
    builtin(c);
  },
  delete: c => {
    builtin(c);
    if (split(c.path).length === 1 && !NOT_MODEL.has(split(c.path)[0])) was_empty = true;  // another model may come
    forget_toggles(c.path);
  },
});
{
  const set = commands.set_property, set_camera = viewer.set_camera;
  commands.set_property = c => {
    if (c.is_first) return begin_with_camera_at(c.value);
    if (c.path.startsWith("/Cameras") && c.property !== "visible") leave_camera();
    set(c);
  };
  viewer.set_camera = camera => {
    viewer.controls.dispose();
    set_camera.call(viewer, camera);
    viewer.controls.addEventListener("start", () => { is_untouched = false; });
  };
  viewer.set_camera(viewer.camera);
}

{
  const set_size = viewer.set_3d_pane_size;
  viewer.set_3d_pane_size = (...size) => {
    set_size.apply(viewer, size);
    if (is_camera_mine && is_untouched && has_model()) fit_camera();
  };
  new ResizeObserver(() => viewer.set_3d_pane_size()).observe(viewer.dom_element);
}
element("fit").onclick = () => { is_untouched = true; fit_camera(); };

// ------------------------------------------------------------------ what is where in the picture

const ray_at = (x, y) => {
  const area = viewer.renderer.domElement.getBoundingClientRect(), ray = new THREE.Raycaster();
  ray.setFromCamera({x: 2 * (x - area.left) / area.width - 1, y: 1 - 2 * (y - area.top) / area.height}, viewer.camera);
  return ray;
};

// What is seen at a point of the window: its path, the point of it in W, and the object; null if there is nothing.
const pick = (x, y) => {
  const ray = ray_at(x, y);
  const meshes = boxes_of_meshes().map(({mesh}) => mesh), [hit] = ray.intersectObjects(meshes);
  if (!hit) return null;
  const names = [];
  for (let at = hit.object; at && at !== viewer.scene; at = at.parent) if (at.name && at.name !== "<object>") names.unshift(at.name);
  return {path: `/${names.join("/")}`, point: viewer.scene.worldToLocal(hit.point.clone()).toArray(), object: hit.object};
};

// A double click has the camera turn around what is there.
viewer.dom_element.addEventListener("dblclick", event => {
  const found = pick(event.clientX, event.clientY);
  if (found === null) return;
  is_untouched = false;
  viewer.controls.target.copy(viewer.scene.localToWorld(new THREE.Vector3(...found.point)));
  viewer.controls.update();
  viewer.set_dirty();
});
