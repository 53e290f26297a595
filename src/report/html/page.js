// The table of operators: sorted by its headings, narrowed by the fields above it, each row opened into its details.
// The details are JSON in #details; src/report/html/details.rs says what its letters mean. Everything that comes from
// there becomes text nodes and numbers, never markup.
'use strict';
(() => {
  const table = document.getElementById('ops');
  if (!table) return;
  const data = JSON.parse(document.getElementById('details').textContent);
  const foot = table.tFoot;
  const rows = [...table.tBodies].map((body, at) => ({ body, at, ...data.o[at], cells: body.rows[0].cells, more: body.rows[1] }));
  const text = (row, column) => row.cells[column].textContent;

  // make('td.number', child, ...): an element of a class with text and elements in it.
  const make = (what, ...children) => {
    const [tag, name] = what.split('.');
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.append(...children);
    return element;
  };
  const digits = x => x >= 1e6 ? x.toExponential(2) : x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
  const time = us => us >= 1e6 ? digits(us / 1e6) + ' s' : us >= 1e3 ? digits(us / 1e3) + ' ms' : us >= 1 || !us ? digits(us) + ' µs' : digits(us * 1e3) + ' ns';
  const bytes = x => x >= 1e6 ? digits(x / 1e6) + ' MB' : x >= 1e3 ? digits(x / 1e3) + ' kB' : x + ' B';
  const kib = x => Number((x / 1024).toFixed(1)) + ' KiB';
  const change = (before, after) => before === after ? '=' : !before ? 'new' : (after < before ? '−' : '+') + Math.abs((after - before) / before * 100).toFixed(0) + ' %';

  // A table with a caption; the first cell of each line heads it.
  const grid = (caption, heads, lines) => make('table.grid', make('caption', caption),
    make('thead', make('tr', ...heads.map((head, at) => make(at ? 'th.number' : 'th', head)))),
    make('tbody', ...lines.map(line => make('tr', ...line.map((cell, at) => at ? make('td.number', cell) : make('th', cell))))));

  const after = row => 'q' in row ? 'not sure' : 'after';

  // How full each buffer of a core is, before and after.
  const meter = (value, size, name) => {
    const bar = make('span.meter');
    bar.style.setProperty('--v', Math.min(100, value / size * 100));
    return make('span', bar, ` ${kib(value)}`);
  };
  const held = row => grid('What a core holds', ['buffer', 'before', after(row), 'of'],
    row.h.map(([at, before, after]) => [data.b[at][0], meter(before, data.b[at][1]), meter(after, data.b[at][1]), kib(data.b[at][1])]));
  const compared = (caption, row, names, values, show) => grid(caption, ['', 'before', after(row), 'change'],
    values.map(([at, before, after]) => [names[at], show(before), show(after), change(before, after)]));

  // The timeline: a lane for each pipe, the darker the busier; phases as lines across.
  const svg = (tag, attributes, ...children) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    element.append(...children);
    return element;
  };
  const timeline = ([us, ends, lanes]) => {
    const left = 52, width = 428, height = 16 * lanes.length;
    const names = lanes.map(([at]) => data.l[at]);
    // "0B9" is 0, 0, 9.
    lanes = lanes.map(([at, runs]) => [at, runs.replace(/(\d)([A-Z])/g, (_, digit, letter) => digit.repeat(letter.charCodeAt(0) - 64))]);
    const drawing = svg('svg', { viewBox: `0 0 488 ${height + 22}`, class: 'lanes', role: 'img',
      'aria-label': `Timeline of the busiest core, ${time(us)}: ${lanes.map(([at, busy]) =>
        `${data.l[at]} busy ${([...busy].reduce((sum, digit) => sum + +digit, 0) / 9 / busy.length * 100).toFixed(0)} %`).join(', ')}` });
    lanes.forEach(([, busy], lane) => {
      drawing.append(svg('text', { x: 0, y: lane * 16 + 11, class: 'tick' }, names[lane]));
      const part = width / busy.length;
      for (const run of busy.matchAll(/(\d)\1*/g)) {
        if (run[1] === '0') continue;
        drawing.append(svg('rect', { x: left + run.index * part, y: lane * 16, width: run[0].length * part, height: 13,
          class: names[lane].replace(/mte\d|fixpipe/, 'move'), 'fill-opacity': 0.15 + 0.85 * run[1] / 9 }));
      }
    });
    ends.forEach(end => drawing.append(svg('line', { x1: left + end / us * width, x2: left + end / us * width, y1: 0, y2: height, class: 'phase' })));
    drawing.append(svg('text', { x: left, y: height + 14, class: 'tick' }, '0'),
      svg('text', { x: left + width, y: height + 14, class: 'tick', 'text-anchor': 'end' }, time(us)));
    return make('figure', make('figcaption', 'Timeline of the busiest core; dashed: start, fill, steady state and drain end'), drawing);
  };

  const details = row => {
    const [measured, failed, known] = row.n;
    const facts = [row.x, row.d && `${row.d} default`, measured && `${measured} candidates measured, ${failed} failed`,
      known && `${known} known from earlier tunings`, row.s && `search ended by ${row.s}`,
      'q' in row && `what decides: ${data.q[row.q]}`].filter(Boolean).join(' · ');
    const parts = [];
    if (row.h) parts.push(held(row));
    if (row.p) parts.push(compared('Cycles of the pipes, busiest core', row, data.p, row.p, digits));
    if (row.m) parts.push(compared('What all cores move', row, data.m, row.m, bytes));
    if (row.c) parts.push(grid('Best candidates', ['tiling', 'one launch', 'over the best'],
      row.c.map(([us, tiling]) => [tiling, time(us), change(row.c[0][0], us)])));
    if (row.t) parts.push(timeline(row.t));
    const why = row.w ? [make('h3', 'q' in row ? 'Why it seems faster, by the performance model' : 'Why it is faster, by the performance model'), make('ul', ...row.w.map(reason => make('li', reason + '.')))] : [];
    const predicted = row.e ? [make('p.note', `For one launch alone the performance model predicts ${time(row.e[0])} before, ${time(row.e[1])} ${after(row)}.`)] : [];
    return make('div.opened', make('p.note', facts), ...why, make('div.parts', ...parts), ...predicted);
  };

  // Rows open and close by the button that their name becomes.
  rows.forEach(row => {
    const button = make('button', ...row.cells[0].childNodes);
    button.type = 'button';
    button.setAttribute('aria-expanded', 'false');
    row.more.id = 'more-' + row.at;
    row.more.hidden = true;
    button.setAttribute('aria-controls', row.more.id);
    button.addEventListener('click', () => {
      row.more.hidden = !row.more.hidden;
      button.setAttribute('aria-expanded', String(!row.more.hidden));
      if (!row.filled) row.more.cells[0].append(details(row));
      row.filled = true;
    });
    row.cells[0].append(button);
  });

  // By what a column sorts: numbers where it shows some.
  const total = (row, at) => row.u[at] * row.u[2];
  const gain = row => row.u[1] ? row.u[0] / row.u[1] : 0;
  const keys = { 1: row => total(row, 0), 2: row => total(row, 1), 3: gain, 4: row => total(row, 1) };
  const heads = [...table.tHead.rows[0].cells];
  const sort = (column, way) => {
    const key = keys[column];
    const order = key ? (a, b) => key(a) - key(b) : (a, b) => text(a, column).localeCompare(text(b, column), 'en', { numeric: true });
    rows.sort((a, b) => way * order(a, b) || a.at - b.at);
    rows.forEach(row => table.insertBefore(row.body, foot));
    heads.forEach((head, at) => 'fixed' in head.dataset || head.setAttribute('aria-sort', at !== column ? 'none' : way > 0 ? 'ascending' : 'descending'));
  };
  heads.forEach((head, column) => {
    if ('fixed' in head.dataset) return;
    const button = make('button', head.textContent);
    button.type = 'button';
    head.replaceChildren(button);
    head.setAttribute('aria-sort', column === 1 ? 'descending' : 'none');
    // Numbers begin with the largest, words with the first; a second time turns that.
    button.addEventListener('click', () => {
      const now = head.getAttribute('aria-sort');
      sort(column, now === 'none' ? (keys[column] ? -1 : 1) : now === 'ascending' ? -1 : 1);
    });
  });

  // The fields narrow the table together.
  const field = id => document.getElementById(id);
  const narrow = () => {
    const name = field('find').value.trim().toLowerCase();
    const wanted = [[6, 'of-type'], [7, 'of-status'], [8, 'of-reader']].map(([column, id]) => [column, field(id).value]);
    let shown = 0;
    rows.forEach(row => {
      const full = (row.cells[0].title || '') + ' ' + text(row, 0);
      row.body.hidden = !(full.toLowerCase().includes(name) && wanted.every(([column, value]) => !value || text(row, column) === value));
      shown += !row.body.hidden;
    });
    field('found').textContent = `${shown} of ${rows.length} operators`;
  };
  field('filters').addEventListener('input', narrow);
  field('filters').hidden = false;
  narrow();
})();
