// The graph of agents, tools and skills. Names come from transcripts: they are only ever set as text.

const { d3 } = globalThis;
const LAYERS = { agent: 0, subagent: 1, tool: 2, skill: 2, "mcp-server": 3 };
const ROW = 22;
const NAMES = { agent: "agent", subagent: "sub-agent", tool: "tool", skill: "skill", "mcp-server": "MCP server" };

const place = document.getElementById("graph");
if (place && d3) {
  const answer = await fetch(place.dataset.source, { headers: { Accept: "application/json" } });
  if (answer.ok) draw(place, await answer.json());
}

function draw(place, data) {
  const picture = place.querySelector(".picture");
  const width = picture.clientWidth || 800;
  const height = picture.clientHeight || 500;
  const nodes = data.nodes.map((node) => ({ ...node, radius: radiusOf(node) }));
  const known = new Set(nodes.map((node) => node.id));
  const edges = data.edges.filter((edge) => known.has(edge.source) && known.has(edge.target)).map((edge) => ({ ...edge }));
  const svg = d3.select(picture).append("svg").attr("viewBox", `0 0 ${width} ${height}`);
  const canvas = svg.append("g");
  const zoom = d3.zoom().scaleExtent([0.2, 6]).on("zoom", (event) => canvas.attr("transform", event.transform));
  svg.call(zoom).on("dblclick.zoom", null);

  settle(nodes, edges, width, height);
  const lines = canvas.append("g").selectAll("path").data(edges).join("path")
    .attr("class", (edge) => `edge ${edge.kind}`)
    .attr("stroke-width", (edge) => 1 + Math.min(Math.log10(Math.max(edge.times, 1)) * 2, 6))
    .attr("d", (edge) => curve(edge.source, edge.target));
  const marks = canvas.append("g").selectAll("g").data(nodes).join("g")
    .attr("class", (node) => `node ${node.kind}${node.is_used ? "" : " unused"}`)
    .attr("transform", (node) => `translate(${node.x},${node.y})`)
    .attr("tabindex", 0).attr("role", "button").attr("aria-label", (node) => `${NAMES[node.kind]} ${node.name}, ${timesOf(node)}`);
  marks.append("circle").attr("r", (node) => node.radius);
  marks.append("text").attr("x", (node) => node.radius + 4).attr("dy", "0.35em").text((node) => shortened(node.name, 28));
  marks.append("title").text((node) => `${node.name}: ${timesOf(node)}`);
  marks.on("pointerenter focus", (_event, node) => show(node))
    .on("pointerleave", () => light(null))
    .on("click", (_event, node) => show(node))
    .on("keydown", (event, node) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show(node);
      document.querySelector("#about a")?.focus();
    });
  fit();

  function show(node) {
    light(node);
    about(node);
  }

  function light(node) {
    const near = new Set([node?.id]);
    for (const edge of edges) {
      if (edge.source === node || edge.target === node) near.add(edge.source.id).add(edge.target.id);
    }
    marks.classed("dimmed", (other) => node !== null && !near.has(other.id));
    lines.classed("dimmed", (edge) => node !== null && edge.source !== node && edge.target !== node);
  }

  function about(node) {
    const box = document.getElementById("about");
    const heading = element("h2", node.name);
    const facts = [element("p", `${NAMES[node.kind]}, ${timesOf(node)}`)];
    if (node.link) facts.push(paragraph(link(node.link, "Conversations that use it")));
    if (node.path) {
      const query = new URLSearchParams(place.dataset.query.replace(/^\?/, ""));
      query.set("node", node.id);
      facts.push(paragraph(link(`/graph/definition?${query}`, "Its definition")));
    }
    if (node.is_defined === false) facts.push(element("p", "It is no longer defined on this machine."));
    const ties = element("ul");
    for (const edge of edges) {
      if (edge.source !== node && edge.target !== node) continue;
      const times = edge.times ? ` (${edge.times})` : "";
      ties.append(element("li", `${edge.source === node ? "" : `${edge.source.name} `}${data.words[edge.kind]} ${edge.target === node ? "it" : edge.target.name}${times}`));
    }
    box.replaceChildren(heading, ...facts, ties);
  }

  function fit() {
    const box = canvas.node().getBBox();
    const scale = Math.min(width / (box.width + 40), height / (box.height + 40), 1.5);
    const x = (width - box.width * scale) / 2 - box.x * scale;
    const y = (height - box.height * scale) / 2 - box.y * scale;
    svg.call(zoom.transform, d3.zoomIdentity.translate(x, y).scale(scale));
  }
}

// Layers from left to right; within them, nodes stand near what they are tied to. The same every time.
function settle(nodes, edges, width, height) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const near = new Map(nodes.map((node) => [node, []]));
  for (const edge of edges) {
    edge.source = byId.get(edge.source);
    edge.target = byId.get(edge.target);
    near.get(edge.source).push(edge.target);
    near.get(edge.target).push(edge.source);
  }
  const columns = d3.groups(nodes, (node) => LAYERS[node.kind]).sort((one, other) => one[0] - other[0]);
  const tallest = Math.max(...columns.map(([, members]) => members.length * ROW));
  const reach = width * Math.max(1, tallest / height); // a tall picture is made smaller to fit: it needs its width still
  const spread = ([layer, members]) => {
    const step = Math.min(Math.max(tallest, height * 0.8) / members.length, ROW * 4);
    members.forEach((node, number) => {
      node.x = (reach / 4) * (0.5 + layer);
      node.y = (number - (members.length - 1) / 2) * step;
    });
  };
  columns.forEach(spread);
  for (let round = 0; round < 6; round += 1) {
    for (const column of round % 2 ? [...columns].reverse() : columns) {
      for (const node of column[1]) node.pull = d3.mean(near.get(node), (other) => other.y) ?? node.y;
      column[1].sort((one, other) => one.pull - other.pull || d3.ascending(one.id, other.id));
      spread(column);
    }
  }
}

function curve(source, target) {
  const bend = source.kind === target.kind ? 60 : 0;
  const middle = (source.x + target.x) / 2 - bend;
  return `M${source.x},${source.y}C${middle},${source.y} ${middle},${target.y} ${target.x},${target.y}`;
}

function radiusOf(node) {
  return 5 + Math.min(Math.sqrt(node.count), 14);
}

function timesOf(node) {
  return node.is_used ? `${node.count} ${node.counted}${node.count === 1 ? "" : "s"}` : "defined, never used";
}

function element(name, text) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return made;
}

function link(address, text) {
  const made = element("a", text);
  made.href = address;
  return made;
}

function paragraph(child) {
  const made = element("p");
  made.append(child);
  return made;
}

function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
