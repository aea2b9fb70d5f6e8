#include "evidence/style.h"

namespace requal::evidence {

std::string_view style_sheet() {
    // Contrast of text on its background is at least 4.5 to 1 in both schemes.
    return R"css(:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f6f7f9; --ink: #1b1f24; --soft: #57606a; --rule: #d0d7de;
  --bar: #2f6f9f; --exact: #8a97a5; --mark: #5b3fa8; --limit: #b3261e;
  --pass: #1a6b34; --pass-back: #e3f4e8; --fail: #a3120b; --fail-back: #fde8e6; --open: #7a4d00; --open-back: #fff2d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --panel: #1c2127; --ink: #e6e9ed; --soft: #a3adb8; --rule: #3a424c;
    --bar: #6fb1de; --exact: #7c8895; --mark: #b79cf5; --limit: #ff8a80;
    --pass: #7fdc9a; --pass-back: #14321e; --fail: #ff9d94; --fail-back: #3d1714; --open: #f3c46b; --open-back: #3a2c0d;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 2.2rem 0 .6rem; font-size: 1.25rem; border-bottom: 1px solid var(--rule); padding-bottom: .25rem; }
h3 { margin: 1.4rem 0 .4rem; font-size: 1.05rem; overflow-wrap: anywhere; }
.kind, .run, footer { color: var(--soft); margin: .3rem 0; }
.result { font-size: 1.1rem; margin: .7rem 0; }
.verdict { display: inline-block; padding: .1rem .6rem; border: 1px solid currentColor; border-radius: .3rem; font-weight: 600;
  white-space: nowrap; }
.pass { color: var(--pass); background: var(--pass-back); }
.fail { color: var(--fail); background: var(--fail-back); }
.undecidable { color: var(--open); background: var(--open-back); }
table { border-collapse: collapse; width: 100%; margin: .6rem 0 1rem; font-size: .93rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--rule);
  overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid var(--rule); overflow-wrap: normal; }
tbody th { font-weight: 600; min-width: 9rem; }
td { min-width: 5.5rem; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: .88em; overflow-wrap: anywhere; }
.figure { display: grid; grid-template-columns: minmax(0, 3fr) minmax(16rem, 2fr); gap: 1.2rem; align-items: start; }
figure { margin: 0; background: var(--panel); border: 1px solid var(--rule); border-radius: .4rem; padding: .5rem; }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
.axis { stroke: var(--soft); stroke-width: 1; }
.grid { stroke: var(--rule); stroke-width: .6; }
.axis-text, .axis-label { fill: var(--soft); }
.bar { fill: var(--bar); }
.bar-exact { fill: var(--exact); }
.marker { stroke: var(--mark); stroke-width: 1.5; }
.limit { stroke: var(--limit); stroke-width: 1.5; stroke-dasharray: 5 3; }
.marker-text { fill: var(--ink); paint-order: stroke; stroke: var(--panel); stroke-width: 3px; }
@media (max-width: 60rem) { .figure { grid-template-columns: minmax(0, 1fr); } table { font-size: .88rem; } }
@media print {
  :root { --page: #fff; --panel: #fff; --ink: #000; --soft: #333; --rule: #999; --bar: #555; --exact: #aaa; --mark: #000; --limit: #000;
    --pass: #000; --pass-back: #fff; --fail: #000; --fail-back: #fff; --open: #000; --open-back: #fff; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  figure, tr, h2, h3 { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
)css";
}

}  // namespace requal::evidence
