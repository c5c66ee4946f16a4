// Buttons, sliders and what may be shown or hidden, beside the picture; keys; and the time line of a recording. Names are
// put into the page as text: they may come from model files of others.

const keys = {}, groups = {}, toggles = {};
viewer.gui_controllers = Object.create(null);  // by name: {row, getValue, setValue, show, fire}
const SHOWN = "Show";  // the group of what may be shown or hidden
let panel_choice = null;  // whether a user wants the panel to be open

const made = (tag, properties = {}, ...children) => {
  const found = Object.assign(document.createElement(tag), properties);
  found.append(...children);
  return found;
};
const rounded_text = (value, step) => String(+value.toFixed(Math.max(4, Math.ceil(-Math.log10(step)))));

const buttons = made("div", {className: "buttons"});
element("controls").append(buttons);

const group_of = (name, is_folded) => {
  if (groups[name] === undefined) {
    const rows = made("div", {className: "rows"});
    const whole = made("details", {open: !is_folded}, made("summary", {textContent: name}), rows);
    element(name === SHOWN ? "shown" : "controls").append(whole);
    groups[name] = {whole, rows};
  }
  return groups[name].rows;
};
const drop_empty_groups = () => Object.entries(groups).forEach(([name, {whole, rows}]) => {
  if (rows.children.length > 0) return;
  whole.remove();
  delete groups[name];
});

const show_panel = () => {
  const has_controls = Object.keys(viewer.gui_controllers).length > 0, is_narrow = innerWidth <= 720;  // it would be in the way
  const is_wanted = is_narrow ? has_controls && element("simulation").hidden : has_controls || has_plots();
  element("panel").hidden = !(panel_choice ?? is_wanted);
};
element("open").onclick = () => {
  panel_choice = element("panel").hidden;
  show_panel();
};

// ------------------------------------------------------------------ buttons and sliders

const add_button = c => {
  const press = () => report({type: "button", name: c.name});
  const row = made("button", {textContent: c.name, onclick: press});
  buttons.append(row);
  return {row, fire: press};
};

const add_slider = c => {
  const {min, max, step} = c, bar = made("div", {className: "bar", tabIndex: 0}), fill = made("div", {className: "fill"});
  const input = made("input", {className: "value", type: "text", inputMode: "decimal"});
  const head = made("div", {className: "head"}, made("span", {className: "name", textContent: c.name}), input);
  const limit = value => made("span", {textContent: rounded_text(value, step)});
  const row = made("div", {className: "row"}, head);
  if (c.toggles) input.before(bar);
  else row.append(made("div", {className: "scale"}, limit(min), bar, limit(max)));
  row.dataset.slider = c.name;
  bar.append(fill);
  let current = c.value;
  const show = value => {
    current = value;
    input.value = rounded_text(value, step);
    fill.style.width = `${max > min ? 100 * (value - min) / (max - min) : 0}%`;
  };
  const setValue = wanted => {
    if (!Number.isFinite(wanted)) return show(current);
    const limited = Math.min(Math.max(wanted, min), max);
    show(Math.min(Math.max(Math.round(limited / step) * step, min), max));
    report({type: "slider", name: c.name, value: current});
    if (c.toggles) set_shown(c.toggles, current > min);
  };
  const drag = event => {
    if (!(event.buttons & 1)) return;
    const {left, width} = bar.getBoundingClientRect();
    setValue(min + (max - min) * (event.clientX - left) / width);
  };
  bar.onpointerdown = event => { bar.setPointerCapture(event.pointerId); drag(event); };
  bar.onpointermove = drag;
  bar.onkeydown = event => {
    const direction = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1}[event.code];
    if (direction && !keys[event.code]) { setValue(current + direction * step); event.preventDefault(); }
  };
  input.onchange = () => setValue(Number(input.value.replace(",", ".")));
  show(c.value);
  if (c.toggles) head.prepend(add_toggle({path: c.toggles}).box);
  group_of(c.group || (c.toggles ? SHOWN : "Sliders"), c.is_folded).append(row);
  return {row, show, getValue: () => current, setValue};
};

const bind_keys = (name, presses) => {
  Object.values(keys).forEach(bound => delete bound[name]);
  for (const code in presses) if (code) (keys[code] ??= Object.create(null))[name] = presses[code];
};
document.addEventListener("keydown", event => {
  if (!["INPUT", "SELECT"].includes(event.target.tagName) || event.target.type === "range") Object.values(keys[event.code] ?? {}).forEach(press => press());
});

const delete_control = name => {
  viewer.gui_controllers[name]?.row.remove();
  delete viewer.gui_controllers[name];
  bind_keys(name, {});
  drop_empty_groups();
};

// ------------------------------------------------------------------ what may be shown or hidden

// All objects of a toggle: that at its path, or those of a name anywhere below it.
const toggled = ({path, part}) => {
  if (!part) return [node_at(path).object];
  const found = [];
  node_at(path).object.traverse(each => { if (each.name === part) found.push(each); });
  return found;
};
const key_of = ({path, part}) => part ? `${path} ${part}` : path;
const set_shown = (key, is_shown) => {
  const toggle = toggles[key];
  toggled(toggle).forEach(each => { each.visible = is_shown; });
  toggle.is_shown = toggle.box.checked = is_shown;
  see_model();
  viewer.set_dirty();
};
const add_toggle = ({path, part = "", is_shown = null}) => {
  const key = key_of({path, part}), box = made("input", {type: "checkbox"});
  toggles[key]?.row?.remove();
  toggles[key] = {path, part, box, is_shown};
  box.onchange = () => set_shown(key, box.checked);
  return toggles[key];
};
const forget_toggles = path => {
  for (const [key, toggle] of Object.entries(toggles)) {
    if (!toggle.row || !`${toggle.path}/`.startsWith(`${path}/`)) continue;
    toggle.row.remove();
    delete toggles[key];
  }
  drop_empty_groups();
};
listeners.push(done => {
  if (!done.some(c => ["set_object", "set_toggle"].includes(c.type))) return;
  for (const toggle of Object.values(toggles).filter(each => each.part && each.is_shown !== null)) {
    toggled(toggle).forEach(each => { each.visible = toggle.is_shown; });
  }
});
before_drawing.push(() => {
  for (const toggle of Object.values(toggles)) if (!toggle.part) toggle.box.checked = node_at(toggle.path).object.visible;
});

Object.assign(commands, {
  set_control: c => {
    delete_control(c.name);
    const control = c.step ? add_slider(c) : add_button(c), [key, other] = c.keycodes;
    viewer.gui_controllers[c.name] = control;
    const move = steps => control.setValue(control.getValue() + steps * c.step);
    bind_keys(c.name, c.step ? {[key]: () => move(-1), [other]: () => move(1)} : {[key]: control.fire});
    show_panel();
  },
  set_control_value: c => viewer.gui_controllers[c.name]?.show?.(c.value),
  delete_control: c => { delete_control(c.name); show_panel(); },
  set_toggle: c => {
    const known = toggles[key_of(c)]?.box ?? null;
    if (Object.values(viewer.gui_controllers).some(({row}) => row.contains(known))) return;  // beside its slider
    const toggle = add_toggle(c), label = made("label", {}, c.label);
    label.prepend(toggle.box, " ");
    toggle.row = made("div", {className: "row"}, made("div", {className: "head"}, label));
    group_of(SHOWN).append(toggle.row);
    toggle.box.checked = c.is_shown ?? true;
  },
  realtime_rate: c => { element("rate").textContent = `real-time rate ${c.rate.toFixed(2)}`; },
  show_realtime_rate: c => { element("rate").hidden = !c.show; },
  show_preview: c => {
    element("preview").hidden = !c.picture;
    if (c.picture) element("preview").src = c.picture;
  },
});

// ------------------------------------------------------------------ the tree of the scene

element("scene").append(viewer.gui.domElement);
viewer.gui.open();
viewer.gui.width = 300;

// ------------------------------------------------------------------ recordings

let frames_per_second = 64;
const show_playback = () => {
  const {animator} = viewer;
  element("playback").hidden = !(animator.duration > 0);
  element("time-line").max = animator.duration;
  animator.mixer.timeScale = Number(element("speed").value);
  animator.folder.close();
  show_time();
};
const show_time = () => {
  const {animator} = viewer;
  element("play").classList.toggle("is-playing", animator.playing);
  element("time-line").value = animator.time;
  element("time").textContent = `${animator.time.toFixed(2)} / ${animator.duration.toFixed(2)} s`;
};
{
  const {animator} = viewer;
  for (const name of ["play", "pause", "display_progress"]) {
    const act = animator[name];
    animator[name] = (...values) => { act.apply(animator, values); show_time(); };
  }
  element("play").onclick = () => animator.playing ? animator.pause() : animator.play();
  element("rewind").onclick = () => animator.reset();
  element("speed").onchange = () => { animator.mixer.timeScale = Number(element("speed").value); };
  const go_to = time => {
    if (animator.playing) animator.pause();
    animator.actions.forEach(action => { action.paused = false; action.play(); });
    animator.seek(time);
    animator.display_progress(time);
  };
  element("time-line").oninput = () => go_to(Number(element("time-line").value));
  element("next-frame").onclick = () => go_to(Math.min(animator.time + 1 / frames_per_second, animator.duration));
}

// Has a recorded slider follow the animation, which sets a property of the scene, in a page without a server.
const prepare_slider = ({name, min, max, step}, i) => {
  const is_alone = connection === null;
  if (is_alone) commands.set_control({name, value: min, min, max, step, keycodes: []});
  Object.defineProperty(viewer.scene, `slider${i}`, {configurable: true, get: () => min, set: value => {
    if (is_alone) viewer.gui_controllers[name].show(value);
  }});
};
