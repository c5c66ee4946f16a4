// Where the commands of a page come from: a server, or the page itself; and messages of a page to a server, which
// client_messages.py checks.

const reported = {};
let connection = null, has_scene = false;  // until it has one, the camera is not set

const report = (message, only_changes = false) => {
  const text = JSON.stringify(message);
  if (connection === null || connection.readyState !== WebSocket.OPEN) return;
  if (only_changes && text === reported[message.type]) return;
  connection.send(reported[message.type] = text);
};

// A batch comes in chunks of this size (server.py), of which the last is shorter.
const CHUNK = 1 << 18;
let chunks = [], arrived = Promise.resolve();
const take_chunk = async chunk => {
  chunks.push(chunk);
  if (chunk.byteLength === CHUNK) return;
  const batch = chunks;
  chunks = [];
  await receive(batch.length > 1 ? await new Blob(batch).arrayBuffer() : chunk);
  has_scene = true;
};

const connect = () => {
  let was_open = false;
  const open = () => {
    connection = new WebSocket(location.href.replace(/^http/, "ws").replace(/[^/]*$/, ""));
    connection.binaryType = "arraybuffer";
    connection.onmessage = event => { arrived = arrived.then(() => take_chunk(event.data)); };
    connection.onopen = () => { if (was_open) location.reload(); was_open = true; };
    connection.onclose = () => { element("status").hidden = false; setTimeout(open, 1000); };
  };
  const tracks_camera = new URLSearchParams(location.search).get("tracked_camera");
  const report_inputs = () => {
    requestAnimationFrame(report_inputs);
    const pad = [...navigator.getGamepads?.() ?? []].find(each => each?.connected), rounded = x => Math.round(100 * x) / 100;
    const gamepad = pad ? {index: pad.index, button_values: pad.buttons.map(b => rounded(b.value)), axes: pad.axes.map(rounded)} : {};
    if (pad || reported.gamepad) report({type: "gamepad", gamepad}, true);
    if (tracks_camera && has_scene) {
      viewer.camera.updateWorldMatrix(true, false);
      const {matrixWorld, isPerspectiveCamera} = viewer.camera;
      report({type: "camera_pose", camera_pose: matrixWorld.elements, is_perspective: !!isPerspectiveCamera}, true);
    }
  };
  open();
  report_inputs();
};

// Pages without a server: all batches are in the page (base64 of gzip), or in files beside it.
const unpack = async text => {
  const zipped = await (await fetch(`data:application/gzip;base64,${text}`)).blob();
  receive(await new Response(zipped.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
};
const load = async files => {
  for (const file of files) await receive(await (await fetch(file)).arrayBuffer());
};
