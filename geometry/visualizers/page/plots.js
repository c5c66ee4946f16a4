// Plots of signals over simulated time, beside the picture. Names are put into the page as text.

const plots = Object.create(null);  // by title
const LINE_COLORS = ["#2f7dd1", "#d9480f", "#2b8a3e", "#9c36b5", "#c98a00", "#0b7285", "#c2255c", "#5c6f00"];
const PLOT_HEIGHT = 130, EDGE = {left: 44, right: 6, top: 6, bottom: 18};  // [pixels]
const color_of_signal = (order, i) => LINE_COLORS[order.indexOf(i) % LINE_COLORS.length];
const has_plots = () => Object.keys(plots).length > 0;

// Numbers from low to high at steps of 1, 2 or 5 times a power of ten, some of them.
const ticks_between = (low, high, count) => {
  const step = round_length((high - low) / count), found = [];
  for (let i = Math.ceil(low / step - 1e-6); i * step <= high + 1e-6 * step; i++) found.push(i * step);
  return {step, found};
};

const draw_plot = plot => {
  const {canvas, times, values, boxes, span} = plot, width = canvas.clientWidth, ratio = devicePixelRatio, size = boxes.length;
  if (width === 0) return;
  Object.assign(canvas, {width: width * ratio, height: PLOT_HEIGHT * ratio});
  const paint = canvas.getContext("2d"), right = width - EDGE.right, bottom = PLOT_HEIGHT - EDGE.bottom;
  paint.scale(ratio, ratio);
  const end = Math.max(times.at(-1) ?? 0, (times[0] ?? 0) + span), begin = end - span;
  const first = Math.max(0, times.findIndex(time => time >= begin)), shown = boxes.flatMap((box, i) => box.checked ? [i] : []);
  let low = Infinity, high = -Infinity;
  for (let k = first; k < times.length; k++) for (const i of shown) {
    const value = values[k][i];
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  if (!(low <= high)) [low, high] = [-1, 1];
  const size_of_value = Math.max(Math.abs(low), Math.abs(high));
  const slack = high - low > 1e-9 * size_of_value ? 0.06 * (high - low) : Math.max(0.1 * size_of_value, 0.1);
  [low, high] = [low - slack, high + slack];
  const x = time => EDGE.left + (time - begin) / span * (right - EDGE.left), y = value => bottom - (value - low) / (high - low) * (bottom - EDGE.top);
  paint.font = "10px system-ui, sans-serif";
  paint.fillStyle = "#6b7480";
  paint.strokeStyle = "#dfe3e8";
  const line = (...points) => {
    paint.beginPath();
    points.forEach(([a, b], k) => k ? paint.lineTo(a, b) : paint.moveTo(a, b));
    paint.stroke();
  };
  for (const axis of [{of: ticks_between(low, high, 5), is_up: true}, {of: ticks_between(begin, end, 5), is_up: false}]) {
    for (const tick of axis.of.found) {
      const text = rounded_text(tick, axis.of.step), [a, b] = axis.is_up ? [EDGE.left, y(tick)] : [x(tick), bottom];
      paint.textAlign = axis.is_up ? "right" : "center";
      if (axis.is_up) line([a, b], [right, b]);
      paint.fillText(text, axis.is_up ? a - 4 : Math.min(a, right - 8), axis.is_up ? b + 3 : b + 13);
    }
  }
  line([EDGE.left, EDGE.top], [EDGE.left, bottom], [right, bottom]);
  paint.lineWidth = 1.4;
  for (const i of shown) {
    paint.strokeStyle = color_of_signal(plot.order, i);
    paint.beginPath();
    for (let k = first, is_on = false; k < times.length; k++) {
      const is_number = Number.isFinite(values[k][i]);
      if (is_number) is_on ? paint.lineTo(x(times[k]), y(values[k][i])) : paint.moveTo(x(times[k]), y(values[k][i]));
      is_on = is_number;
    }
    paint.stroke();
  }
  const last = values.at(-1);
  for (let i = 0; i < size; i++) plot.numbers[i].textContent = last ? with_sign(last[i], 4) : "";
};
const delete_plot = title => {
  plots[title]?.whole.remove();
  delete plots[title];
};

Object.assign(commands, {
  set_plot: ({title, names, span, is_shown, is_folded}) => {
    const known = plots[title], is_same = known?.names.join("\n") === names.join("\n");  // users have chosen
    const checked = is_same ? known.boxes.map(box => box.checked) : is_shown, is_open = is_same ? known.whole.open : !is_folded;
    delete_plot(title);
    const canvas = made("canvas"), numbers = names.map(() => made("output"));
    // Those that are drawn come first.
    const order = names.map((_, i) => i).sort((a, b) => checked[b] - checked[a] || a - b);
    const boxes = names.map((_, i) => made("input", {type: "checkbox", checked: checked[i]}));
    const rows = names.map((name, i) => made("label", {}, boxes[i], made("span", {textContent: name}), numbers[i]));
    rows.forEach((row, i) => row.style.setProperty("--line-color", color_of_signal(order, i)));
    const whole = made("details", {open: is_open}, made("summary", {textContent: title}), canvas, made("div", {className: "legend"}, ...order.map(i => rows[i])));
    const plot = plots[title] = {names, order, span, boxes, numbers, canvas, whole, times: [], values: [], is_new: true};
    whole.onchange = whole.ontoggle = () => draw_plot(plot);
    element("plots").append(whole);
    show_panel();
  },
  add_samples: ({title, is_start, times, values}) => {
    const plot = plots[title], size = plot?.boxes.length;
    if (!plot) return;
    if (is_start) [plot.times, plot.values] = [[], []];
    times.forEach((time, k) => { plot.times.push(time); plot.values.push(values.slice(k * size, (k + 1) * size)); });
    const first = plot.times.findIndex(time => time >= plot.times.at(-1) - plot.span);
    if (first > 256) [plot.times, plot.values] = [plot.times.slice(first - 1), plot.values.slice(first - 1)];
    plot.is_new = true;
  },
  delete_plot: c => { delete_plot(c.title); show_panel(); },
});
before_drawing.push(() => {
  for (const plot of Object.values(plots)) {
    if (!plot.is_new || !plot.whole.open) continue;
    plot.is_new = false;
    draw_plot(plot);
  }
});
