// A folded frame takes the room of its title: in each direction, what lies within folded frames alone becomes narrower.
// Everything else keeps its shape: boxes are moved, and the points of lines and frames follow the same map.
const TITLE_SIZE = { x: 40, y: 34 };
function squeeze(covers) {
  const seen = (one) => !one.classList.contains("covered");
  const boxes = [...svg.querySelectorAll("g.node:not(.cover)")].filter(seen).map((one) => one.getBBox());
  const frames = [...svg.querySelectorAll("g.cluster")].filter((one) => seen(one) && !closed.has(Number(one.id.slice(1))));
  const titles = frames.flatMap((one) => [...one.querySelectorAll("text")]).map((one) => one.getBBox());
  const folded = covers.filter(Boolean).map((one) => [one.querySelector("rect").getBBox(), one]);
  const maps = {};
  for (const [axis, side] of [["x", "width"], ["y", "height"]]) {
    const rigid = [...boxes, ...titles].map((one) => [one[axis], one[axis] + one[side]]);
    const wanted = (one) => axis === "y" ? TITLE_SIZE.y
      : Math.max(...[...one.querySelectorAll("text")].map((text) => text.getBBox().width)) + TITLE_SIZE.x / 2;
    maps[axis] = squeezed(folded.map(([at, one]) => [at[axis], at[axis] + at[side], wanted(one)]), rigid);
  }
  const { x, y } = maps;
  const points = (text) => text.replace(/(-?[\d.]+)[ ,](-?[\d.]+)/g, (_, a, b) => x(Number(a)).toFixed(2) + "," + y(Number(b)).toFixed(2));
  for (const one of svg.querySelectorAll("g.edge path, g.cluster path")) one.setAttribute("d", points(one.getAttribute("d")));
  for (const one of svg.querySelectorAll("g.cluster polygon")) one.setAttribute("points", points(one.getAttribute("points")));
  for (const one of svg.querySelectorAll("g.node:not(.cover), g.edge > polygon, g.edge text, g.cluster text")) {
    const at = one.getBBox(), mx = at.x + at.width / 2, my = at.y + at.height / 2;
    const shift = one.classList.contains("sign") ? [x(at.x + at.width) - at.x - at.width, y(at.y) - at.y] : [x(mx) - mx, y(my) - my];
    one.setAttribute("transform", "translate(" + shift + ")");
  }
  for (const [at, one] of folded) {
    const rect = one.querySelector("rect"), left = x(at.x), top = y(at.y), right = x(at.x + at.width), low = y(at.y + at.height);
    for (const [name, value] of Object.entries({ x: left, y: top, width: right - left, height: low - top })) rect.setAttribute(name, value);
    const [name, rest] = one.querySelectorAll("text");
    for (const [text, down] of [[name, -2], [rest, 12]]) {
      text.setAttribute("x", (left + right) / 2);
      text.setAttribute("y", (top + low) / 2 + down);
    }
    one.parentNode.append(one);
    svg.getElementById("s" + one.id.slice(1)).classList.add("covered");
  }
  const back = svg.querySelector("g.graph > polygon"), moves = svg.querySelector("g.graph").transform.baseVal.consolidate().matrix;
  if (back) back.setAttribute("points", points(back.getAttribute("points")));
  const right = x(home[0] + home[2] - moves.e) + moves.e, low = y(home[1] + home[3] - moves.f) + moves.f;
  home = [home[0], home[1], right - home[0], low - home[1]];
}
// The map of one coordinate: frames are [from, to, wanted length], rigid intervals keep their length.
function squeezed(frames, rigid) {
  const ends = [...new Set([...frames, ...rigid].flatMap(([from, to]) => [from, to]))].sort((a, b) => a - b);
  const pieces = ends.slice(1).map((to, i) => ({ from: ends[i], to, by: 1 }));
  for (const piece of pieces) {
    const over = ([from, to]) => from < piece.to && to > piece.from;
    if (rigid.some(over)) continue;
    const shares = frames.filter(over).map(([from, to, wanted]) => {
      const inside = pieces.filter((one) => one.from >= from && one.to <= to);
      const kept = inside.filter((one) => rigid.some(([low, high]) => low < one.to && high > one.from)).reduce((sum, one) => sum + one.to - one.from, 0);
      return to - from > kept ? Math.min(1, Math.max(wanted - kept, 4) / (to - from - kept)) : 1;
    });
    if (shares.length) piece.by = Math.max(...shares);
  }
  return (at) => at - pieces.reduce((sum, { from, to, by }) => sum + Math.max(0, Math.min(at, to) - from) * (1 - by), 0);
}
