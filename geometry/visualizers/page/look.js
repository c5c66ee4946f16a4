// How the scene looks: colors as amounts of light, lights, background, grid, and shadows. The scene's own coordinates are
// those of W, with z upwards.

const CASTS = 1;  // the layer of what casts a shadow on the ground
const IS_BARELY_SEEN = 0.5;  // opacity below which things cast no shadow

viewer.renderer.outputEncoding = THREE.sRGBEncoding;

// Colors are given as on screens (IEC 61966-2-1); light adds up in amounts.
const amount_of_light = byte => {
  const value = byte / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
};
const amounts_of_light = Float32Array.from({length: 256}, (_, byte) => amount_of_light(byte));
const light_amounts = colors => new THREE.BufferAttribute(Float32Array.from(colors.array, byte => amounts_of_light[byte]), 3);

// Has a new object show its colors as they are meant, and cast shadows if it is solid.
const prepare_look = object => object.traverse(each => {
  const colors = each.geometry?.attributes?.color;
  if (colors?.array instanceof Uint8Array) each.geometry.setAttribute("color", light_amounts(colors));
  for (const material of each.material ? [each.material].flat() : []) {
    if (material.userData.is_prepared) continue;
    material.userData.is_prepared = true;
    reflect_surroundings(material);
    material.color?.convertSRGBToLinear();
    material.emissive?.convertSRGBToLinear();
    for (const texture of [material.map, material.emissiveMap]) {
      if (texture) Object.assign(texture, {encoding: THREE.sRGBEncoding, anisotropy: 8});  // sharp on floors, too
    }
  }
});

// Moves the pictures on an object as far as its surface has gone round an axis: [a, s], the axis in the frame of its folder
// and the way [m]. What is at p now has come from p - s (a x n): texture coordinates change by -s times their rate along
// a x n, the mean of the triangles around a vertex.
const move_pictures = (object, [x, y, z, s]) => object.traverse(each => {
  const geometry = each.geometry, given = geometry?.attributes?.uv;
  if (!given || ![each.material].flat().some(material => material.map)) return;
  const axis = `${x} ${y} ${z}`;
  if (geometry.userData.axis !== axis) {
    geometry.userData.uv ??= given.array;  // which other objects of the same file may share
    Object.assign(geometry.userData, {axis, rates: picture_rates(each, object.parent, new THREE.Vector3(x, y, z))});
    geometry.setAttribute("uv", new THREE.BufferAttribute(Float32Array.from(geometry.userData.uv), 2));
  }
  const {uv, rates} = geometry.userData, moved = geometry.attributes.uv;
  moved.array.forEach((_, i) => { moved.array[i] = uv[i] - s * rates[i]; });
  moved.needsUpdate = true;
});

// How fast texture coordinates of each vertex of a mesh change along a x n.
const picture_rates = (mesh, folder, axis) => {
  const {position} = mesh.geometry.attributes, {uv} = mesh.geometry.userData, index = mesh.geometry.index?.array;
  mesh.updateWorldMatrix(true, false);
  const to_folder = folder.matrixWorld.clone().invert().multiply(mesh.matrixWorld);
  const place = i => new THREE.Vector3().fromBufferAttribute(position, i).applyMatrix4(to_folder);
  const rates = new Float32Array(uv.length), counts = new Float32Array(position.count);
  for (let t = 0; t + 2 < (index?.length ?? position.count); t += 3) {
    const [i, j, k] = [t, t + 1, t + 2].map(corner => index?.[corner] ?? corner), p = place(i);
    const to_j = place(j).sub(p), to_k = place(k).sub(p), normal = to_j.clone().cross(to_k), area = normal.length();
    if (!(area > 0)) continue;
    const way = axis.clone().cross(normal.divideScalar(area));  // = at_j to_j + at_k to_k
    const at_j = way.clone().cross(to_k).dot(normal) / area, at_k = to_j.clone().cross(way).dot(normal) / area;
    for (const vertex of [i, j, k]) {
      counts[vertex] += 1;
      for (const c of [0, 1]) {
        const u = corner => uv[2 * corner + c];
        rates[2 * vertex + c] += at_j * (u(j) - u(i)) + at_k * (u(k) - u(i));
      }
    }
  }
  return rates.map((rate, i) => rate / Math.max(counts[i >> 1], 1));
};

// ------------------------------------------------------------------ lights, background, grid

const KEY_DIRECTION = new THREE.Vector3(0.45, -0.55, 1).normalize();  // from where it shines, in W
const key_light = new THREE.DirectionalLight(0xffffff, 0.58);
{
  const sky = new THREE.HemisphereLight(0xffffff, 0xb9b2a8, 0.38), fill = new THREE.DirectionalLight(0xffffff, 0.12);
  sky.position.set(0, 0, 1);
  fill.position.set(-10, -6, 4);
  replace_object("/Lights/AmbientLight", sky);
  replace_object("/Lights/FillLight", fill);
  replace_object("/Lights/KeyLight", key_light);
  for (const name of ["PointLightNegativeX", "PointLightPositiveX"]) {  // there for programs that want them
    object_at(`/Lights/${name}`).intensity = 0;
  }
  viewer.scene.add(key_light.target);
}
key_light.castShadow = true;
key_light.shadow.mapSize.set(2048, 2048);
key_light.shadow.radius = 3;
viewer.renderer.shadowMap.type = THREE.PCFShadowMap;

{
  const show = viewer.show_background;
  viewer.show_background = () => {
    const {top_color, bottom_color, sky} = node_at("/Background").object;
    show.call(viewer);
    viewer.scene.background.encoding = THREE.sRGBEncoding;
    if (sky) viewer.scene.background = sky_texture(top_color, bottom_color);
  };
}

// A ground of lines, which fades away from the model, instead of the client's.
const make_grid = () => {
  const material = new THREE.LineBasicMaterial({color: 0x8b95a1, transparent: true, opacity: 0.8, depthWrite: false});
  material.onBeforeCompile = shader => {
    shader.vertexShader = shader.vertexShader.replace("void main() {", "varying vec2 v_ground;\nvoid main() {\nv_ground = position.xy;");
    shader.fragmentShader = shader.fragmentShader.replace("void main() {", "varying vec2 v_ground;\nvoid main() {")
      .replace("#include <color_fragment>", "#include <color_fragment>\ndiffuseColor.a *= 1.0 - smoothstep(0.2, 1.0, length(v_ground));");
  };
  const points = [], lines = 20;
  for (let i = -lines; i <= lines; i++) points.push(i / lines, -1, 0, i / lines, 1, 0, -1, i / lines, 0, 1, i / lines, 0);
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
  const grid = new THREE.LineSegments(geometry, material);
  grid.scale.setScalar(10);
  return grid;
};
replace_object("/Grid", make_grid());

// ------------------------------------------------------------------ a soft shadow on the ground

// What stands on the ground, seen from below: dark where it touches, blurred, drawn as a square on the ground.
const ground_shadow = (() => {
  const RESOLUTION = 512, DARKNESS = 0.5;
  const targets = [0, 1].map(() => new THREE.WebGLRenderTarget(RESOLUTION, RESOLUTION));
  const camera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);
  camera.layers.set(CASTS);
  const shader = (vertexShader, fragmentShader, uniforms, more = {}) =>
    new THREE.ShaderMaterial({vertexShader, fragmentShader, uniforms, depthTest: false, depthWrite: false, ...more});
  const nearness = shader(
    "varying float v_near; void main() { gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); v_near = 0.5 - 0.5 * gl_Position.z; }",
    "varying float v_near; void main() { gl_FragColor = vec4(vec3(v_near), 1.0); }",
    {}, {side: THREE.DoubleSide, depthTest: true, depthWrite: true});
  const blur = shader(
    "varying vec2 v_uv; void main() { v_uv = uv; gl_Position = vec4(position.xy, 0.0, 1.0); }",
    `uniform sampler2D picture; uniform vec2 step; varying vec2 v_uv;
    void main() {
      float sum = 0.0, weights = 0.0;
      for (float i = -8.0; i <= 8.0; i += 1.0) {
        float weight = exp(-i * i / 24.0);
        sum += weight * texture2D(picture, v_uv + i * step).r;
        weights += weight;
      }
      gl_FragColor = vec4(vec3(sum / weights), 1.0);
    }`, {picture: {value: null}, step: {value: new THREE.Vector2()}});
  const screen = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), blur);
  screen.frustumCulled = false;
  const drawing = shader(
    `uniform mat4 from_below; varying vec2 v_uv; varying vec2 v_place;
    void main() {
      vec4 place = modelMatrix * vec4(position, 1.0);
      v_uv = 0.5 + 0.5 * (from_below * place).xy;
      v_place = position.xy;
      gl_Position = projectionMatrix * viewMatrix * place;
    }`,
    `uniform sampler2D picture; uniform float darkness; varying vec2 v_uv; varying vec2 v_place;
    void main() {
      float edge = 1.0 - smoothstep(0.7, 1.0, length(v_place));
      gl_FragColor = vec4(0.0, 0.0, 0.0, darkness * edge * texture2D(picture, v_uv).r);
    }`,
    {picture: {value: targets[0].texture}, darkness: {value: DARKNESS}, from_below: {value: new THREE.Matrix4()}},
    {depthTest: true, transparent: true, polygonOffset: true, polygonOffsetFactor: -1, polygonOffsetUnits: -1});
  const square = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), drawing);
  square.visible = false;
  viewer.scene.add(square);

  // Puts it below a model: a box around it in W, and the height of the ground.
  const place = (box, level) => {
    const size = box.getSize(new THREE.Vector3()), center = box.getCenter(new THREE.Vector3());
    const half = 0.75 * Math.hypot(size.x, size.y) + 0.35 * size.length(), height = Math.max(box.max.z - level, 0.2 * half);
    Object.assign(camera, {left: -half, right: half, top: half, bottom: -half, near: -2e-3 * half, far: 0.8 * height});
    square.position.set(center.x, center.y, level);
    square.scale.set(half, half, 1);
    viewer.scene.updateMatrixWorld();
    camera.up.copy(new THREE.Vector3(0, 1, 0).transformDirection(viewer.scene.matrixWorld));
    camera.position.copy(square.getWorldPosition(new THREE.Vector3()));
    camera.lookAt(square.localToWorld(new THREE.Vector3(0, 0, 1)));
    camera.updateMatrixWorld();
    camera.updateProjectionMatrix();
    drawing.uniforms.from_below.value.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
    square.visible = true;
  };

  const pass = (renderer, from, to, step) => {
    blur.uniforms.picture.value = targets[from].texture;
    blur.uniforms.step.value.copy(step);
    renderer.setRenderTarget(targets[to]);
    renderer.render(screen, camera);
  };
  const update = () => {
    const {renderer, scene} = viewer, {background, environment} = scene, clear = renderer.getClearAlpha();
    square.visible = false;
    Object.assign(scene, {background: null, environment: null, overrideMaterial: nearness});
    renderer.shadowMap.autoUpdate = false;
    renderer.setClearAlpha(0);
    renderer.setRenderTarget(targets[0]);
    renderer.clear();
    renderer.render(scene, camera);
    Object.assign(scene, {background, environment, overrideMaterial: null});
    screen.layers.set(CASTS);
    for (const width of [2, 1]) {  // pixels between samples
      pass(renderer, 0, 1, new THREE.Vector2(width / RESOLUTION, 0));
      pass(renderer, 1, 0, new THREE.Vector2(0, width / RESOLUTION));
    }
    renderer.setRenderTarget(null);
    renderer.setClearAlpha(clear);
    renderer.shadowMap.autoUpdate = true;
    square.visible = true;
  };
  return {place, update, square, hide: () => { square.visible = false; }};
})();

// ------------------------------------------------------------------ drawing

// Which objects cast shadows: solid ones of the model, as they are now; what surrounds it only shows those of others.
const note_casters = (floors, around) => viewer.scene.traverse(object => {
  if (!object.isMesh || object === ground_shadow.square) return;
  const is_solid = [object.material].flat().every(each => !each.transparent || each.opacity >= IS_BARELY_SEEN);
  const is_floor = floors.has(object);
  object.castShadow = is_solid && !is_floor && !around.has(object);
  object.receiveShadow = is_solid && !is_floor;  // it has the soft one
  object.layers[object.castShadow ? "enable" : "disable"](CASTS);
  if (!is_floor) return;
  for (const material of [object.material].flat()) {
    material.specular?.set(0);  // or it mirrors the sky at its horizon
    Object.assign(material, {polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1});  // grid and shadow lie on it
  }
});

// Has the key light, and the ground, follow the model.
const light_model = (box, level) => {
  const {center, radius} = box.getBoundingSphere(new THREE.Sphere()), {camera} = key_light.shadow;
  key_light.target.position.copy(center);
  key_light.position.copy(center).addScaledVector(KEY_DIRECTION, 3 * radius);
  Object.assign(camera, {left: -radius, right: radius, top: radius, bottom: -radius, near: radius, far: 6 * radius});
  camera.updateProjectionMatrix();
  key_light.shadow.normalBias = 0.004 * radius;
  key_light.shadow.bias = -5e-4;
  ground_shadow.place(box, level);
};

// ------------------------------------------------------------------ what shiny things reflect

// Without a picture of the surroundings, metals and what is dark reflect a room: a bright ceiling, and a floor that is
// darker. Lights are balanced for what is light and no metal, which does without.
const STUDIO = {above: [255, 255, 255], across: [168, 174, 182], below: [96, 94, 92]};
let has_environment = false;  // of a program
const reflect_surroundings = material => {
  if (!material.isMeshStandardMaterial) return;
  const {r, g, b} = material.color, darkness = 1 - Math.max(r, g, b);
  material.envMapIntensity = has_environment ? 1 : Math.max(material.metalness, darkness ** 2);
};
const set_environment = texture => {
  viewer.scene.environment = texture ?? sky_texture(STUDIO.above, STUDIO.across, STUDIO.below);
  has_environment = texture !== null;
  viewer.scene.traverse(object => [object.material ?? []].flat().forEach(reflect_surroundings));
};

const before_drawing = [];  // are called before each picture
{
  const render = viewer.render;
  viewer.render = () => {
    before_drawing.forEach(each => each());
    const is_flat = viewer.scene.background === null;  // as for plots
    key_light.castShadow = !is_flat;
    if (is_flat) ground_shadow.hide();
    else if (has_model()) ground_shadow.update();
    render.call(viewer);
  };
}

// A sky that is seen in all directions, from its colors above, at the horizon, and below that.
const sky_texture = (top, bottom, ground = bottom) => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [16, 512];
  const paint = canvas.getContext("2d"), gradient = paint.createLinearGradient(0, 0, 0, canvas.height);
  const css = color => `rgb(${color.map(Math.round).join()})`;
  gradient.addColorStop(0, css(top));
  gradient.addColorStop(0.5, css(bottom));
  gradient.addColorStop(1, css(ground));
  paint.fillStyle = gradient;
  paint.fillRect(0, 0, canvas.width, canvas.height);
  const texture = new THREE.CanvasTexture(canvas);
  texture.mapping = THREE.EquirectangularReflectionMapping;
  texture.encoding = THREE.sRGBEncoding;
  return texture;
};
set_environment(null);
