// The settings of a run, from the text of its configuration: by "section.key".
export function settingsOf(run) {
  if (run.settings?.text === run.about.config) return run.settings.map;
  const map = new Map();
  let section = "";
  for (const line of run.about.config.split("\n")) {
    const head = line.match(/^\[([^\]]+)\]\s*$/), pair = line.match(/^([\w-]+)\s*=\s*(.*)$/);
    if (head) section = head[1];
    else if (pair) map.set(section + "." + pair[1], pair[2].replace(/^"(.*)"$/, "$1"));
  }
  run.settings = {text: run.about.config, map};
  return map;
}

// Runs of one configuration differ only in these.
const WITHOUT_SAY = new Set(["run.name", "run.out", "run.seed"]);
export const configurationOf = run => JSON.stringify([...settingsOf(run)].filter(([key]) => !WITHOUT_SAY.has(key)).sort());

// What differs between any two runs anyway, or has a column of its own.
const TOLD = new Set(["run.name", "run.out", "grid.name", "grid.listen", "strategy.name", "topology.graph", "compress.codec"]);

// The settings in which some of these runs differ.
export function differing(runs) {
  const keys = new Set(runs.flatMap(run => [...settingsOf(run).keys()]));
  const ofAll = key => !key.startsWith("strategy.") || runs.every(run => settingsOf(run).has(key));  // strategies have options of their own
  return [...keys].filter(key => !TOLD.has(key) && ofAll(key) && new Set(runs.map(run => settingsOf(run).get(key))).size > 1).sort();
}
