"use strict";(self.rspackChunkgradviz=self.rspackChunkgradviz||[]).push([[1],{25(r,e,a){var o=a(26),g=a.n(o),t=a(27),i=(a.n(t))()(g());i.push([r.id,`/* src/views/elements/look.css */
.gradviz {
  color-scheme: light dark;
  --gv-bg: var(--jp-layout-color0, light-dark(#ffffff, #14171a));
  --gv-fg: var(--jp-ui-font-color0, light-dark(#1b1f24, #e8ebee));
  --gv-bar: color-mix(in srgb, var(--gv-fg) 4%, var(--gv-bg));
  --gv-hover: color-mix(in srgb, var(--gv-fg) 9%, var(--gv-bg));
  --gv-border: color-mix(in srgb, var(--gv-fg) 18%, var(--gv-bg));
  --gv-muted: color-mix(in srgb, var(--gv-fg) 70%, var(--gv-bg));
  --gv-ghost: color-mix(in srgb, var(--gv-fg) 34%, var(--gv-bg));
  --gv-forward: light-dark(#0072b2, #6cb8ea);
  --gv-backward: light-dark(#b84a00, #f2a064);
  --gv-accumulation: light-dark(#8a3a7a, #dfa3d0);
  --gv-gpu: light-dark(#0b8457, #4fc99a);
  --gv-right: light-dark(#00795a, #5fd3ae);
  --gv-wrong: light-dark(#b3261e, #ff9a91);
  --gv-nested: light-dark(#5b5ea6, #b3b4f0);
  --gv-forward-tint: color-mix(in srgb, var(--gv-forward) 14%, var(--gv-bg));
  --gv-backward-tint: color-mix(in srgb, var(--gv-backward) 14%, var(--gv-bg));
  --gv-accumulation-tint: color-mix(in srgb, var(--gv-accumulation) 14%, var(--gv-bg));
  --gv-focus: light-dark(#0b57d0, #8ab4f8);
  --gv-sans: var(--jp-ui-font-family, system-ui, "Segoe UI", Helvetica, Arial, sans-serif);
  --gv-mono: var(--jp-code-font-family, ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace);
  container: gradviz / inline-size;
  box-sizing: border-box;
  min-width: 0;
  width: 100%;
  border-radius: 8px;
  color: var(--gv-fg);
  font: 13px/1.45 var(--gv-sans);
  font-variant-numeric: tabular-nums;
  overflow-wrap: break-word;
  text-align: left;
}
[data-jp-theme-light=true] .gradviz,
.vscode-light .gradviz {
  color-scheme: light;
}
[data-jp-theme-light=false] .gradviz,
.vscode-dark .gradviz,
.vscode-high-contrast .gradviz {
  color-scheme: dark;
}
.gradviz *,
.gradviz *::before,
.gradviz *::after {
  box-sizing: border-box;
}
.gradviz [hidden] {
  display: none !important;
}
.gradviz :focus-visible {
  outline: 2px solid var(--gv-focus);
  outline-offset: -2px;
}
.gradviz:focus {
  outline: none;
}
.gradviz:focus-visible > .gv-frame::after {
  content: "";
  position: absolute;
  z-index: 3;
  inset: 0;
  border: 2px solid var(--gv-focus);
  border-radius: 7px;
  pointer-events: none;
}
.gradviz.gradviz.gradviz :is(code, kbd) {
  padding: 0;
  border: 0;
  background: none;
  box-shadow: none;
  color: inherit;
  font: 12px/1.6 var(--gv-mono);
}
.gradviz.gradviz.gradviz kbd {
  padding: 0 4px;
  border: 1px solid var(--gv-border);
  border-bottom-width: 2px;
  border-radius: 4px;
  background: var(--gv-bg);
  font-size: 11px;
}
.gradviz.gv-error {
  padding: 12px;
  border: 1px solid var(--gv-border);
  border-left: 4px solid var(--gv-wrong);
  background: var(--gv-bg);
  overflow-wrap: anywhere;
}
.gradviz.gv-opening {
  margin: 0;
  padding: 12px;
  color: var(--gv-muted);
}
.gv-lost:not(:empty) {
  margin-bottom: 6px;
  padding: 6px 12px;
  border-left: 4px solid light-dark(#b84a00, #f2a064);
  font: 13px/1.45 var(--jp-ui-font-family, system-ui, "Segoe UI", Helvetica, Arial, sans-serif);
}
.gv-frame {
  position: relative;
  display: flex;
  flex-direction: column;
  overflow: hidden;
  border: 1px solid var(--gv-border);
  border-radius: 8px;
  background: var(--gv-bg);
}
.gv-version,
.gv-note,
.gv-quiet {
  color: var(--gv-muted);
}
.gv-version {
  white-space: nowrap;
}
.gv-note {
  font-weight: 400;
}
.gv-icon {
  width: 14px;
  height: 14px;
  vertical-align: -2px;
  fill: currentColor;
  stroke: currentColor;
  stroke-width: 1.6;
  stroke-linejoin: round;
  stroke-linecap: round;
}

/* src/views/elements/controls.css */
.gradviz button {
  margin: 0;
  padding: 0 7px;
  border: 0;
  border-radius: 5px;
  background: none;
  color: inherit;
  font: inherit;
  white-space: nowrap;
  cursor: pointer;
}
.gradviz button:hover {
  background: var(--gv-hover);
}
.gradviz button[aria-pressed=true] {
  background: var(--gv-forward-tint);
  box-shadow: inset 0 0 0 1px var(--gv-forward);
}
.gradviz button[aria-disabled=true] {
  color: var(--gv-ghost);
  cursor: default;
}
.gradviz .gv-tool {
  flex: none;
  width: 26px;
  height: 24px;
  padding: 0;
  color: var(--gv-muted);
  line-height: 0;
}
.gradviz .gv-tool:is(:hover, [aria-expanded=true]):not([aria-disabled=true]) {
  background: var(--gv-hover);
  color: var(--gv-fg);
}
.gv-tool .gv-icon {
  fill: none;
}
.gradviz .gv-link {
  align-self: flex-start;
  max-width: 100%;
  min-height: 26px;
  border: 1px solid var(--gv-border);
  text-align: left;
  white-space: normal;
}
.gv-segments {
  display: inline-flex;
  flex: none;
  align-self: flex-start;
  border: 1px solid var(--gv-border);
  border-radius: 6px;
}
.gradviz .gv-segments button {
  min-height: 24px;
  color: var(--gv-muted);
}
.gradviz .gv-segments button[aria-pressed=true],
.gradviz .gv-chips button[aria-pressed=true] {
  background: var(--gv-hover);
  box-shadow: none;
  color: var(--gv-fg);
}
.gradviz input:where(:not([type=checkbox])) {
  height: 26px;
  margin: 0;
  padding: 0 8px;
  border: 1px solid var(--gv-border);
  border-radius: 6px;
  background: var(--gv-bg);
  color: var(--gv-fg);
  font: inherit;
}
.gradviz input::placeholder {
  color: var(--gv-muted);
  opacity: 1;
}
.gradviz input:placeholder-shown {
  text-overflow: ellipsis;
}
.gradviz input[aria-invalid] {
  border-color: var(--gv-wrong);
}

/* src/views/shell/toolbar.css */
.gv-toolbar {
  position: relative;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 2px;
  padding: 6px 8px;
  border-bottom: 1px solid var(--gv-border);
  background: var(--gv-bar);
}
.gv-wait {
  display: none;
  flex: 1 0 100%;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 12px;
  padding-left: 8px;
  border-left: 4px solid var(--gv-forward);
}
.gv-wait.gv-on {
  display: flex;
}
.gv-wait > * {
  white-space: nowrap;
}
.gradviz .gv-toolbar button {
  min-width: 28px;
  height: 28px;
}
.gradviz .gv-toolbar .gv-primary {
  padding: 0 10px 0 8px;
  background: var(--gv-forward);
  color: var(--gv-bg);
  font-weight: 600;
}
.gv-primary .gv-icon {
  margin-right: 4px;
}
.gradviz .gv-toolbar .gv-primary[aria-disabled=true] {
  background: var(--gv-hover);
  color: var(--gv-muted);
}
.gv-toolbar > .gv-segments {
  margin: 0 4px;
}
.gv-stroked .gv-icon {
  fill: none;
}
.gv-separator {
  width: 1px;
  height: 18px;
  margin: 0 6px;
  background: var(--gv-border);
}
.gv-run-to {
  position: relative;
  flex: 1 1 96px;
  min-width: 0;
  max-width: 200px;
}
.gradviz .gv-run-to input {
  width: 100%;
  height: 28px;
}
.gv-menu {
  position: relative;
}
.gv-menu > summary {
  display: flex;
  align-items: center;
  height: 28px;
  padding: 0 7px;
  border-radius: 5px;
  list-style: none;
  cursor: pointer;
}
.gv-menu > summary::-webkit-details-marker {
  display: none;
}
.gv-menu > summary::after {
  width: 0;
  margin-left: 5px;
  border: 4px solid transparent;
  border-top-color: currentcolor;
  border-bottom-width: 0;
  content: "";
}
.gv-menu > summary:hover,
.gv-menu[open] > summary {
  background: var(--gv-hover);
}
.gv-menu > div {
  position: absolute;
  z-index: 2;
  top: calc(100% + 2px);
  left: 0;
  display: grid;
  width: max-content;
  padding: 4px;
  border: 1px solid var(--gv-border);
  border-radius: 6px;
  background: var(--gv-bg);
}
.gradviz .gv-menu button {
  text-align: left;
}
.gv-message:not(:empty) {
  position: absolute;
  z-index: 2;
  top: calc(100% + 2px);
  left: 0;
  width: max-content;
  max-width: min(400px, 50cqi);
  padding: 6px 10px;
  border: 1px solid var(--gv-border);
  border-left: 3px solid var(--gv-wrong);
  border-radius: 6px;
  background: var(--gv-bg);
  overflow-wrap: anywhere;
}
.gv-where {
  display: flex;
  flex: none;
  align-items: center;
  margin-left: auto;
}
.gv-position {
  padding: 0 4px;
  color: var(--gv-muted);
  white-space: nowrap;
}
.gradviz .gv-not-run {
  color: var(--gv-wrong);
  font-weight: 600;
  white-space: nowrap;
}
.gv-position b {
  display: inline-block;
  text-align: right;
  color: var(--gv-fg);
}
.gv-help {
  position: absolute;
  z-index: 2;
  top: var(--gv-top);
  right: 8px;
  max-height: calc(100% - var(--gv-top) - 8px);
  padding: 8px 12px;
  overflow: auto;
  border: 1px solid var(--gv-border);
  border-radius: 6px;
  background: var(--gv-bg);
}
.gv-help > div {
  display: grid;
  grid-template-columns: 72px 1fr;
  gap: 8px;
  padding: 2px 0;
}
.gv-help > div > :first-child {
  display: flex;
  flex-wrap: wrap;
  gap: 4px;
  align-content: start;
}
@container gradviz (max-width: 1100px) {
  .gv-toolbar {
    gap: 4px 0;
    padding: 6px 4px;
  }
  .gradviz .gv-toolbar button:not(.gv-primary) {
    min-width: 24px;
    padding: 0 4px;
  }
  .gradviz .gv-toolbar .gv-primary {
    padding: 0 8px 0 6px;
  }
  .gv-toolbar > .gv-separator {
    margin: 0 3px;
  }
  .gv-toolbar > .gv-segments {
    margin: 0 2px;
  }
  .gv-word {
    display: none;
  }
}
@container gradviz (max-width: 900px) {
  .gv-run-to {
    position: static;
  }
  .gv-message:not(:empty) {
    right: 8px;
    left: auto;
    max-width: calc(100cqi - 16px);
  }
}
@container gradviz (max-width: 560px) {
  .gv-toolbar > .gv-separator {
    display: none;
  }
}

/* src/views/timeline/timeline.css */
.gv-timeline {
  contain: strict;
  flex: none;
  height: 30px;
  padding: 0 16px;
  border-bottom: 1px solid var(--gv-border);
  cursor: pointer;
  touch-action: none;
  user-select: none;
}
.gv-track {
  position: relative;
  height: 100%;
}
.gv-whole {
  position: absolute;
  z-index: 1;
  top: 0;
  right: 16px;
  left: 16px;
  height: 5px;
  background: var(--gv-border);
}
.gv-whole b {
  position: absolute;
  top: 0;
  bottom: 0;
  min-width: 4px;
  background: var(--gv-forward);
}
.gv-track::before {
  content: "";
  position: absolute;
  top: 14px;
  right: 0;
  left: 0;
  height: 2px;
  background: var(--gv-border);
}
.gv-span {
  position: absolute;
  top: 22px;
  height: 5px;
  min-width: 2px;
  border-radius: 2px;
  background: color-mix(in srgb, var(--gv-nested) 45%, var(--gv-bg));
}
.gv-span i {
  position: absolute;
  top: 0;
  bottom: 0;
  width: 1px;
  background: var(--gv-bg);
}
.gv-veil {
  display: none;
  position: absolute;
  top: 22px;
  right: -2px;
  height: 5px;
  background: var(--gv-bg);
}
.gv-marks {
  position: absolute;
  inset: 0;
  width: 100%;
  height: 100%;
  overflow: visible;
}
.gv-playhead {
  position: absolute;
  top: 3px;
  width: 2px;
  height: 24px;
  margin-left: -1px;
  background: var(--gv-fg);
  opacity: 0.75;
}
.gv-track > .gv-now {
  position: absolute;
  top: 3px;
  right: -5px;
  height: 24px;
  border-right: 2px dashed var(--gv-backward);
}
.gv-mark {
  --gv-tone: var(--gv-muted);
  fill: var(--gv-tone);
}
.gv-mark.gv-tone-forward {
  --gv-tone: var(--gv-forward);
}
.gv-mark.gv-tone-backward {
  --gv-tone: var(--gv-backward);
}
.gv-mark.gv-tone-accumulation {
  --gv-tone: var(--gv-accumulation);
}
.gv-mark.gv-tone-right {
  --gv-tone: var(--gv-right);
}
.gv-mark.gv-tone-wrong {
  --gv-tone: var(--gv-wrong);
}
.gv-mark.gv-tone-nested {
  --gv-tone: var(--gv-nested);
}
.gv-track .gv-mark:not(.gv-past) {
  --gv-tone: var(--gv-border);
}

/* src/views/shell/crumbs.css */
.gv-crumbs {
  flex: none;
  height: 29px;
  padding: 0 12px;
  overflow: hidden;
  border-bottom: 1px solid var(--gv-border);
}
.gradviz .gv-way {
  display: flex;
  align-items: center;
  height: 100%;
  margin: 0;
  padding: 0;
  overflow-x: auto;
  list-style: none;
  scrollbar-width: none;
}
.gradviz .gv-way li {
  display: flex;
  flex: none;
  align-items: center;
  margin: 0;
}
.gv-way li + li::before {
  content: "/";
  margin: 0 2px;
  color: var(--gv-muted);
}
.gradviz .gv-way button {
  padding: 0 6px;
  color: var(--gv-muted);
}
.gradviz .gv-way button[aria-current] {
  color: var(--gv-fg);
  font-weight: 600;
}
.gv-turns {
  display: inline-flex;
  margin: 0 4px;
  border: 1px solid var(--gv-border);
  border-radius: 5px;
}
.gradviz .gv-turns .gv-tool {
  width: 22px;
  height: 20px;
  padding: 0;
}

/* src/views/shell/panes.css */
.gv-frame {
  min-height: clamp(440px, 75vh, 760px);
}
.gv-frame > * {
  flex: none;
}
.gv-teaching > .gv-frame {
  min-height: clamp(576px, 75vh + 136px, 896px);
}
.gv-frame > .gv-body {
  flex: 1 0 240px;
  display: grid;
  grid-template: "code graph inspector" minmax(0, 1fr) / minmax(240px, 26%) minmax(0, 1fr) minmax(270px, 30%);
}
.gv-program {
  grid-area: code;
}
.gv-graph {
  grid-area: graph;
}
.gv-inspector {
  grid-area: inspector;
}
.gv-pane-tabs {
  grid-area: tabs;
  display: none;
}
.gv-pane {
  contain: strict;
  min-width: 0;
  min-height: 0;
  overflow: hidden;
  border-right: 1px solid var(--gv-border);
}
.gv-inspector {
  border-right: 0;
}
@container gradviz (min-width: 920px) {
  .gv-projected > .gv-frame > .gv-body {
    grid-template-columns: 240px minmax(0, 1fr) 270px;
  }
  .gv-projected > .gv-frame > :is(.gv-teach, .gv-formula, .gv-narration) {
    zoom: 1.5;
  }
  .gv-projected.gv-teaching > .gv-frame {
    min-height: clamp(776px, 75vh + 136px, 1000px);
  }
}
@media (max-height: 800px) {
  @container gradviz (min-width: 920px) {
    .gv-projected.gv-teaching > .gv-frame > :is(.gv-teach, .gv-formula, .gv-narration) {
      zoom: 1.25;
    }
    .gv-projected.gv-teaching > .gv-frame {
      min-height: clamp(700px, 75vh + 136px, 1000px);
    }
  }
}
@container gradviz (max-width: 919px) {
  .gv-frame > .gv-body {
    grid-template: "tabs graph" auto "left graph" minmax(0, 1fr) / minmax(280px, 2fr) minmax(0, 3fr);
  }
  .gv-pane-tabs {
    display: block;
    min-width: 0;
    border-right: 1px solid var(--gv-border);
  }
  :is(.gv-program, .gv-inspector) {
    grid-area: left;
    border-right: 1px solid var(--gv-border);
  }
  .gv-graph {
    border-right: 0;
  }
  .gv-pane-tabs [data-name=Graph],
  .gv-body[data-pane=Inspector] > .gv-program,
  .gv-body:not([data-pane=Inspector]) > .gv-inspector {
    display: none;
  }
}
@container gradviz (max-width: 699px) {
  .gv-frame {
    min-height: clamp(440px, 88vh, 860px);
  }
  .gv-frame > .gv-body {
    grid-template: "tabs" auto "left" minmax(0, 1fr) / minmax(0, 1fr);
    flex-basis: 320px;
  }
  .gv-toolbar {
    order: -3;
  }
  .gv-frame > .gv-narration {
    order: -2;
    border-top: 0;
    border-bottom: 1px solid var(--gv-border);
  }
  .gv-body > .gv-pane {
    grid-area: left;
    border-right: 0;
  }
  .gv-pane-tabs {
    border-right: 0;
  }
  .gv-pane-tabs [data-name=Graph] {
    display: block;
  }
  .gv-body:not([data-pane=Code]) > .gv-program,
  .gv-body:not([data-pane=Graph]) > .gv-graph,
  .gv-body:not([data-pane=Inspector]) > .gv-inspector {
    display: none;
  }
}

/* src/views/program/program.css */
.gv-program,
.gv-listing {
  display: flex;
  flex-direction: column;
}
.gv-listing {
  flex: 1;
  min-height: 0;
}
.gv-section {
  display: flex;
  flex: none;
  gap: 8px;
  justify-content: space-between;
  padding: 6px 12px 5px;
  border-bottom: 1px solid var(--gv-border);
  background: var(--gv-bar);
  font-weight: 600;
}
.gv-lines + .gv-section {
  border-top: 1px solid var(--gv-border);
}
.gv-count {
  overflow: hidden;
  color: var(--gv-muted);
  font-weight: 400;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.gv-lines {
  min-height: 0;
  overflow: auto;
  overscroll-behavior: contain;
  overflow-anchor: none;
}
.gv-lines-forward {
  flex: 0 1 auto;
  max-height: 45%;
}
.gv-lines-backward {
  flex: 1 1 0;
}
.gv-sheet {
  display: flow-root;
}
.gradviz .gv-line {
  --gv-line-tone: var(--gv-backward);
  --gv-line-tint: var(--gv-backward-tint);
  contain: layout paint style;
  display: flex;
  align-items: baseline;
  width: 100%;
  padding: 1px 8px 1px 0;
  border-left: 3px solid transparent;
  border-radius: 0;
  text-align: left;
  white-space: normal;
}
.gradviz .gv-line.gv-forward {
  --gv-line-tone: var(--gv-forward);
  --gv-line-tint: var(--gv-forward-tint);
}
.gradviz .gv-line:is(.gv-accumulation, .gv-deduplication, .gv-duplicate),
.gv-accumulating .gv-line:not(.gv-forward) {
  --gv-line-tone: var(--gv-accumulation);
  --gv-line-tint: var(--gv-accumulation-tint);
}
.gradviz .gv-line:hover {
  background: var(--gv-hover);
}
.gradviz .gv-line.gv-new,
.gradviz .gv-line.gv-current {
  border-left-color: var(--gv-line-tone);
  background: var(--gv-line-tint);
}
.gradviz .gv-line.gv-future {
  color: var(--gv-muted);
  font-style: italic;
}
.gradviz .gv-line.gv-selected {
  outline: 2px solid var(--gv-line-tone);
  outline-offset: -2px;
}
.gradviz.gradviz.gradviz .gv-line code {
  min-width: 0;
  padding-left: 1.4em;
  overflow-wrap: anywhere;
  text-indent: -1.4em;
}
.gv-gutter {
  flex: none;
  align-self: flex-start;
  width: 15px;
  height: 15px;
  margin-top: 2px;
  line-height: 15px;
  color: var(--gv-right);
  font-size: 10px;
  text-align: center;
}
.gv-ran .gv-gutter::before {
  content: "✓";
}
.gv-obstacle .gv-gutter::before {
  content: "✗";
  color: var(--gv-wrong);
  font-weight: 700;
}
.gradviz .gv-line.gv-obstacle {
  box-shadow: inset 0 0 0 1px var(--gv-wrong);
}
.gradviz .gv-line:is(.gv-obstacle, .gv-stale) {
  flex-wrap: wrap;
}
.gradviz.gradviz.gradviz .gv-line:is(.gv-obstacle, .gv-stale) code {
  flex: 1 1 60%;
}
.gradviz :is(.gv-obstacle, .gv-stale) > .gv-note {
  flex: none;
  margin-left: auto;
  padding-left: 8px;
  color: var(--gv-wrong);
  font-style: normal;
}
.gradviz .gv-stale > code {
  text-decoration: underline dashed var(--gv-accumulation);
  text-underline-offset: 3px;
}
.gradviz .gv-stale > .gv-note {
  color: var(--gv-accumulation);
}
.gv-number {
  flex: none;
  min-width: 18px;
  margin-right: 8px;
  color: var(--gv-muted);
  font: 11px var(--gv-mono);
  text-align: right;
}
.gv-operator {
  font-weight: 600;
}
.gv-future .gv-operator {
  font-weight: 400;
}
.gradviz .gv-nested {
  --gv-indent: calc(14px * var(--gv-depth));
  position: relative;
  width: calc(100% - var(--gv-indent));
  margin-left: var(--gv-indent);
}
.gv-nested::before {
  content: "";
  position: absolute;
  top: 0;
  bottom: 0;
  left: calc(11px - var(--gv-indent));
  width: calc(var(--gv-indent) - 13px);
  background:
    repeating-linear-gradient(
      to right,
      var(--gv-border) 0 1px,
      transparent 1px 14px);
  pointer-events: none;
}
.gv-net.gv-nested::before {
  left: calc(14px - var(--gv-indent));
}
.gv-line:has(.gv-fold) {
  position: relative;
  padding-right: 26px;
}
.gv-fold {
  position: absolute;
  top: 1px;
  right: 4px;
  width: 20px;
  height: 20px;
  border-radius: 5px;
  color: var(--gv-muted);
  line-height: 20px;
  text-align: center;
}
.gv-fold:hover {
  background: var(--gv-hover);
  color: var(--gv-fg);
}
.gv-net {
  display: flex;
  gap: 8px;
  justify-content: space-between;
  padding: 2px 8px 2px 10px;
  color: var(--gv-muted);
  font-size: 12px;
}
.gv-round {
  color: var(--gv-nested);
  font-weight: 600;
  white-space: nowrap;
}

/* src/views/program/code.css */
.gv-code-head {
  align-items: center;
  min-height: 31px;
}
.gv-code-head .gv-count {
  flex: 1 0 90px;
  min-width: 0;
  text-align: right;
  white-space: normal;
}
.gv-code-head > b {
  min-width: 0;
  overflow-wrap: anywhere;
}
.gradviz .gv-file {
  min-width: 0;
  border: 1px solid var(--gv-border);
  border-radius: 5px;
  background: var(--gv-bg);
  color: inherit;
  font: inherit;
}
.gv-code {
  --gv-line-tone: var(--gv-forward);
  --gv-line-tint: var(--gv-forward-tint);
  flex: 1;
}
[data-tone=backward] > .gv-code {
  --gv-line-tone: var(--gv-backward);
  --gv-line-tint: var(--gv-backward-tint);
}
[data-tone=accumulation] > .gv-code {
  --gv-line-tone: var(--gv-accumulation);
  --gv-line-tint: var(--gv-accumulation-tint);
}
.gv-code-line {
  contain: layout paint style;
  display: flex;
  align-items: flex-start;
  min-height: 20px;
  padding: 1px 8px 1px 0;
  border-left: 3px solid transparent;
}
.gradviz.gradviz.gradviz .gv-code-line code {
  flex: 1;
  min-width: 0;
  line-height: 18px;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: pre;
}
.gv-code-line .gv-number {
  min-width: 22px;
  line-height: 18px;
}
.gv-called {
  cursor: pointer;
}
.gv-called:hover {
  background: var(--gv-hover);
}
.gv-code-line.gv-beside {
  border-left-color: color-mix(in srgb, var(--gv-line-tone) 50%, transparent);
}
.gv-code-line.gv-now {
  border-left-color: var(--gv-line-tone);
  background: var(--gv-line-tint);
}
.gv-code-line.gv-selected {
  outline: 2px solid var(--gv-line-tone);
  outline-offset: -2px;
}
.gradviz .gv-run {
  display: flex;
  flex: 1;
  min-width: 0;
  padding: 0;
  background: none;
  text-align: left;
}
.gradviz .gv-stop {
  position: relative;
  flex: none;
  width: 16px;
  height: 18px;
  padding: 0;
  background: none;
}
.gv-stop::before {
  content: "";
  position: absolute;
  inset: 5px 4px;
  border-radius: 50%;
}
.gv-called:hover > .gv-stop::before {
  box-shadow: inset 0 0 0 1px var(--gv-muted);
}
.gv-stop[aria-pressed=true]::before {
  background: var(--gv-wrong);
}
.gv-stop[aria-pressed=true].gv-off::before {
  background: none;
  box-shadow: inset 0 0 0 1.5px var(--gv-wrong);
}
.gv-norm {
  display: flex;
  flex: none;
  gap: 5px;
  align-items: center;
  justify-content: flex-end;
  height: 18px;
  padding-left: 6px;
  color: color-mix(in srgb, var(--gv-backward) 75%, var(--gv-fg));
  font: 11px var(--gv-mono);
}
.gv-norm > i {
  height: 6px;
  border-radius: 3px;
  background: var(--gv-backward);
}
.gv-norm > span:not(:empty) {
  min-width: 5ch;
  text-align: left;
}
.gv-code-line .gv-indent {
  letter-spacing: -0.3ch;
}
.gv-norm > .gv-bad {
  color: var(--gv-wrong);
  font-weight: 700;
}
.gv-keyword {
  color: color-mix(in srgb, var(--gv-forward) 75%, var(--gv-fg));
}
.gv-quoted {
  color: color-mix(in srgb, var(--gv-right) 60%, var(--gv-fg));
}
.gv-gap-of-code {
  padding-left: 28px;
  color: var(--gv-muted);
  line-height: 20px;
}

/* src/views/graph/graph.css */
.gv-graph {
  display: flex;
  flex-direction: column;
  container: graph / inline-size;
}
.gv-canvas {
  position: relative;
  flex: 1;
  min-height: 0;
}
.gv-window {
  height: 100%;
  overflow: hidden;
  cursor: grab;
  touch-action: none;
}
.gv-window:active {
  cursor: grabbing;
}
.gv-window > svg {
  display: block;
  max-width: none;
  user-select: none;
}
.gv-graph [data-far],
.gv-graph [data-far] * {
  display: none;
}
.gv-overview {
  position: absolute;
  inset: 0 0 0 auto;
  border-left: 1px solid var(--gv-border);
  background: var(--gv-bar);
  cursor: pointer;
  touch-action: none;
}
.gv-overview > svg {
  display: block;
  width: 100%;
  height: 100%;
}
.gv-overview .gv-forward {
  fill: color-mix(in srgb, var(--gv-forward) 60%, var(--gv-bar));
}
.gv-overview .gv-backward {
  fill: color-mix(in srgb, var(--gv-backward) 60%, var(--gv-bar));
}
.gv-overview .gv-accumulation {
  fill: var(--gv-accumulation);
}
.gv-overview .gv-future {
  fill: var(--gv-ghost);
}
.gv-overview .gv-now {
  fill: var(--gv-fg);
}
.gv-overview .gv-seen {
  fill: none;
  stroke: var(--gv-fg);
}
.gv-empty {
  margin: 0;
  padding: 24px;
  color: var(--gv-muted);
}
.gv-graph .node {
  --gv-node: var(--gv-backward);
  --gv-node-tint: var(--gv-backward-tint);
  cursor: pointer;
}
.gv-graph .node.forward {
  --gv-node: var(--gv-forward);
  --gv-node-tint: var(--gv-forward-tint);
}
.gv-graph .node:is(.accumulation, .deduplication, .duplicate),
.gv-graph .node.accumulating:not(.forward) {
  --gv-node: var(--gv-accumulation);
  --gv-node-tint: var(--gv-accumulation-tint);
}
.gv-graph .node :is(path, polygon, rect, ellipse, circle, polyline, line) {
  fill: var(--gv-bar);
  stroke: var(--gv-node);
  stroke-width: 1.4;
}
.gv-graph .node text {
  fill: var(--gv-fg);
  font-family: var(--gv-sans);
}
.gv-graph :is(.node .detail, .lane text) {
  fill: var(--gv-muted);
}
.gv-graph .node .bar {
  stroke-width: 2.5;
}
.gv-graph .node.passed :is(path, polygon, rect) {
  stroke-dasharray: 4 3;
}
.gv-graph .node.gpu :is(path, polygon, rect) {
  fill: color-mix(in srgb, var(--gv-gpu) 14%, var(--gv-bg));
}
.gv-graph .node:is(.current, .new) :is(path, polygon, rect) {
  fill: var(--gv-node-tint);
  stroke-width: 2.6;
}
.gv-graph .node.accumulation :is(ellipse, circle) {
  fill: var(--gv-accumulation);
}
.gv-graph .node.accumulation text {
  fill: var(--gv-bg);
}
.gv-graph .node.accumulation.new :is(ellipse, circle) {
  stroke-width: 3;
  filter: drop-shadow(0 0 5px var(--gv-accumulation));
}
.gv-graph .node.future :is(path, polygon, rect, ellipse, circle, polyline, line) {
  fill: var(--gv-bg);
  stroke: var(--gv-ghost);
  stroke-dasharray: 4 3;
}
.gv-graph .node.future .bar {
  stroke-dasharray: none;
}
.gv-graph .node.future text {
  fill: var(--gv-muted);
}
.gv-graph .node[data-selected] :is(path, polygon, rect, ellipse, circle) {
  stroke: var(--gv-focus);
  stroke-width: 3;
}
.gv-graph .node .toggle .mark {
  fill: var(--gv-node);
  stroke: none;
  transform-box: fill-box;
  transform-origin: center;
}
.gv-graph .node.group .toggle[aria-expanded=true] .mark {
  transform: rotate(90deg);
}
.gv-graph .node:not(.group) .toggle[aria-expanded=false] .mark {
  transform: rotate(-90deg);
}
.gv-graph .node.future .toggle .mark {
  fill: var(--gv-muted);
}
.gv-graph .node .toggle .area {
  fill: transparent;
  stroke: none;
}
.gv-graph .node .toggle:hover .area {
  fill: color-mix(in srgb, var(--gv-node) 18%, transparent);
}
.gv-graph .node .toggle:focus-visible {
  outline: none;
}
.gv-graph .node .toggle:focus-visible .area {
  stroke: var(--gv-focus);
  stroke-width: 2;
  stroke-dasharray: none;
}
.gv-graph .node.obstacle {
  --gv-node: var(--gv-wrong);
}
.gv-graph .node.obstacle :is(path, polygon, rect) {
  stroke-width: 2.6;
}
.gv-graph .node.stale :is(path, polygon, rect) {
  stroke-dasharray: 5 3;
}
.gv-graph .node.group .stop {
  fill: var(--gv-wrong);
  stroke: var(--gv-bg);
}
.gv-graph .gv-edge-norm {
  display: none;
  font-weight: 600;
}
.gv-norms .edge[data-normed]:not([data-labelled]) .gv-edge-norm {
  display: inline;
}
.gv-norms .edge[data-normed] text {
  transform: translateY(-6.5px);
}
.gv-norms .edge[data-normed][data-level] text {
  transform: translateY(-13px);
}
.gv-norms .edge[data-normed] > path {
  stroke-width: calc(0.7px + 3.6px * var(--gv-size));
}
.gv-norms .edge[data-odd] > path {
  stroke-dasharray: 2 3;
}
.gv-graph .node .gv-odd rect {
  fill: var(--gv-wrong);
  stroke: var(--gv-bg);
  stroke-width: 1.4;
  stroke-dasharray: none;
}
.gv-graph .node .gv-odd text {
  fill: var(--gv-bg);
  font-weight: 600;
}
.gv-graph .gv-leaf rect {
  fill: var(--gv-bg);
  stroke: var(--gv-forward);
  stroke-width: 1;
}
.gv-graph .gv-leaf text {
  fill: var(--gv-forward);
  font: 11px var(--gv-mono);
  text-rendering: geometricPrecision;
}
.gv-graph .gv-leaf .gv-arrow {
  fill: none;
  stroke: var(--gv-forward);
  stroke-width: 1;
}
.gv-graph .gv-leaf.gv-gradient :is(rect, .gv-arrow) {
  stroke: var(--gv-backward);
}
.gv-graph .gv-leaf.gv-gradient text {
  fill: var(--gv-backward);
}
.gv-graph .gv-leaf[data-future] :is(rect, .gv-arrow) {
  stroke: var(--gv-ghost);
  stroke-dasharray: 3 2;
}
.gv-graph .gv-leaf[data-future] text {
  fill: var(--gv-muted);
}
.gv-graph .gv-leaf .gv-number {
  font-weight: 600;
}
.gv-graph:not(.gv-norms) .gv-leaf.gv-gradient .gv-number {
  display: none;
}

/* src/views/graph/clusters.css */
.gv-graph .cluster > .frame {
  fill: var(--gv-bg);
  stroke: var(--gv-border);
}
.gv-graph .cluster > .bar {
  fill: var(--gv-bar);
  cursor: pointer;
}
.gv-graph .cluster > .bar:hover {
  fill: var(--gv-hover);
}
.gv-graph .net > .strip {
  fill: var(--gv-bar);
}
.gv-graph .net > .border {
  stroke: var(--gv-border);
}
.gv-graph .net > .title {
  fill: var(--gv-muted);
  font-family: var(--gv-sans);
}
.gv-graph .net.here > .strip {
  fill: color-mix(in srgb, var(--gv-fg) 14%, var(--gv-bg));
}
.gv-graph .net.here > .title {
  fill: var(--gv-fg);
}
.gv-graph .port rect {
  fill: var(--gv-forward);
}
.gv-graph .port.backward rect {
  fill: var(--gv-backward);
}
.gv-graph .port.future rect {
  fill: var(--gv-ghost);
}
.gv-graph .edge {
  --gv-edge: var(--gv-forward);
}
.gv-graph .edge.backward {
  --gv-edge: var(--gv-backward);
}
.gv-graph .edge.saved {
  --gv-edge: var(--gv-muted);
}
.gv-graph .edge path {
  fill: none;
  stroke: var(--gv-edge);
  stroke-width: 1.5;
}
.gv-graph .edge polygon {
  fill: var(--gv-edge);
  stroke: var(--gv-edge);
}
.gv-graph .edge text {
  fill: var(--gv-edge);
  font-family: var(--gv-mono);
}
.gv-graph .edge.saved path {
  stroke-width: 1;
  stroke-dasharray: 2 4;
}
.gv-graph .edge.carried path {
  stroke-dasharray: 5 3;
}
.gv-graph .edge.hot path {
  stroke-width: 2.6;
}
.gv-graph .edge.saved.hot path {
  stroke-width: 1.6;
}
.gv-graph .edge.future path {
  stroke: var(--gv-ghost);
  stroke-dasharray: 4 3;
}
.gv-graph .edge.future polygon {
  fill: var(--gv-ghost);
  stroke: var(--gv-ghost);
}
.gv-graph .edge.future text {
  fill: var(--gv-muted);
}
.gv-graph .edge.saved.future path {
  stroke-dasharray: 2 4;
}

/* src/views/graph/search.css */
.gv-strip {
  display: flex;
  flex: none;
  flex-wrap: wrap;
  gap: 0 8px;
  align-items: center;
  justify-content: flex-end;
  padding: 1px 6px;
  border-bottom: 1px solid var(--gv-border);
  background: var(--gv-bar);
}
.gv-search,
.gv-focus {
  display: flex;
  flex: 1 1 auto;
  gap: 4px;
  align-items: center;
  min-width: 0;
  height: 28px;
}
.gv-focus:not([hidden]) + .gv-search {
  display: none;
}
.gv-focus > span {
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.gradviz .gv-search input {
  flex: 0 1 180px;
  min-width: 50px;
  height: 22px;
  padding: 0 6px;
}
.gv-search .gv-note {
  white-space: nowrap;
}
.gv-tools {
  display: flex;
  flex: none;
}
@container graph (max-width: 340px) {
  .gv-strip > :is(.gv-search, .gv-focus) {
    flex-basis: 100%;
  }
}
.gv-graph .node[data-match] :is(path, polygon, rect, ellipse):not(.mark, .area) {
  stroke: var(--gv-right);
  stroke-width: 3;
  stroke-dasharray: none;
}
.gv-graph :is(.node, .edge)[data-ghost] {
  opacity: 0.15;
}

/* src/views/graph/operators.css */
.gv-tabular > :is(.gv-strip, .gv-canvas, .gv-empty, .gv-placeless) {
  display: none;
}
.gv-operators {
  container: gv-operators / inline-size;
  width: 100%;
  height: 100%;
  overflow-x: auto;
  overflow-y: hidden;
  background: var(--gv-bg);
}
.gv-table {
  display: flex;
  flex-direction: column;
  height: 100%;
  min-width: 680px;
}
.gv-rows {
  flex: 1;
  overflow-x: hidden;
  overflow-y: scroll;
}
.gv-record {
  display: grid;
  grid-template-columns: 60px minmax(110px, 1.5fr) minmax(80px, 1.5fr) minmax(64px, 1.2fr) minmax(120px, 1.8fr) 92px 72px 72px;
  align-items: center;
  width: 100%;
  height: 26px;
  border-bottom: 1px solid var(--gv-border);
}
.gv-record > * {
  overflow: hidden;
  padding: 0 8px;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.gv-record > :is(:nth-child(1), :nth-child(6), :nth-child(7), :nth-child(8)) {
  text-align: right;
}
.gradviz .gv-record button {
  max-width: 100%;
  height: 22px;
  margin: 0 -7px;
  overflow: hidden;
  font-weight: 600;
  text-overflow: ellipsis;
}
.gv-record.gv-current {
  background: var(--gv-forward-tint);
  box-shadow: inset 3px 0 var(--gv-forward);
}
.gv-record.gv-selected {
  outline: 2px solid var(--gv-forward);
  outline-offset: -2px;
}
.gv-record.gv-heads {
  height: 31px;
  background: var(--gv-bar);
  color: var(--gv-muted);
  font-weight: 600;
}
@container gv-operators (max-width: 679px) {
  .gv-table {
    min-width: 420px;
  }
  .gv-record,
  .gv-record.gv-heads {
    grid-template: "name type gradient norm norm" 23px ". reads writes made ran" 23px / 56px minmax(0, 1fr) minmax(0, 1fr) 70px 66px;
    align-content: center;
    height: 52px;
  }
  .gv-record > * {
    padding: 0 6px;
  }
  .gradviz .gv-heads button {
    max-width: none;
    margin: 0 -4px;
    padding: 0 4px;
  }
  .gv-record > :nth-child(2) {
    grid-area: type;
  }
  .gv-record > :nth-child(3) {
    grid-area: reads;
  }
  .gv-record > :nth-child(4) {
    grid-area: writes;
  }
  .gv-record > :nth-child(5) {
    grid-area: gradient;
  }
  .gv-record > :nth-child(6) {
    grid-area: norm;
  }
  .gv-record > :nth-child(7) {
    grid-area: made;
  }
  .gv-record > :nth-child(8) {
    grid-area: ran;
  }
}
.gv-heads [aria-sort=ascending] button::after {
  content: " ↑";
}
.gv-heads [aria-sort=descending] button::after {
  content: " ↓";
}

/* src/views/inspector/inspector.css */
.gv-inspector {
  container: inspector / inline-size;
  display: flex;
  flex-direction: column;
}
.gv-tabs {
  display: flex;
  flex: none;
  align-items: flex-start;
  justify-content: space-between;
  padding: 0 4px;
  border-bottom: 1px solid var(--gv-border);
  background: var(--gv-bar);
}
.gv-tab-list {
  position: relative;
  display: flex;
  flex: 1;
  flex-wrap: wrap;
  height: 32px;
  overflow: hidden;
}
.gv-tab-list.gv-unfolded {
  height: auto;
}
.gradviz .gv-tabs button {
  flex: none;
  height: 32px;
  padding: 6px 6px 5px;
  border-bottom: 2px solid transparent;
  border-radius: 0;
  color: var(--gv-muted);
}
@container inspector (max-width: 476px) {
  .gradviz .gv-tabs button {
    padding-inline: 3px;
    font-size: 12px;
  }
}
.gv-tabs [role=tab]::after {
  content: attr(data-name);
  display: block;
  height: 0;
  overflow: hidden;
  font-weight: 600;
  visibility: hidden;
}
.gradviz .gv-tabs .gv-more {
  color: var(--gv-fg);
  text-decoration: underline;
  white-space: nowrap;
}
.gradviz .gv-tabs button[aria-selected=true] {
  border-bottom-color: var(--gv-accumulation);
  color: var(--gv-fg);
  font-weight: 600;
}
.gv-inside {
  display: flex;
  flex: 1;
  flex-direction: column;
  gap: 12px;
  min-height: 0;
  padding: 10px 12px;
  overflow: auto;
  overscroll-behavior: contain;
}
.gv-chips {
  display: flex;
  flex: none;
  flex-wrap: wrap;
  gap: 4px;
}
.gradviz .gv-chips button {
  max-width: 100%;
  padding: 1px 8px;
  overflow: hidden;
  border: 1px solid var(--gv-border);
  border-radius: 10px;
  font: 12px/1.6 var(--gv-mono);
  text-overflow: ellipsis;
}
.gv-card {
  display: flex;
  flex: none;
  flex-direction: column;
  gap: 8px;
  align-items: stretch;
}
.gradviz :is(.gv-card p, .gv-quiet, .gv-empty) {
  margin: 0;
}
.gv-not-computed {
  color: var(--gv-muted);
  font-style: italic;
}
.gv-not-computed b {
  color: var(--gv-fg);
}
.gv-single {
  font: 600 20px/1.3 var(--gv-mono);
}
.gv-picture > .gv-note {
  margin-bottom: 4px;
}
.gv-heat {
  display: grid;
  gap: 1px;
}
.gv-heat i {
  --gv-strength: 0%;
  aspect-ratio: 1;
  background: color-mix(in oklab, var(--gv-heat-tone, var(--gv-hover)) var(--gv-strength), var(--gv-hover));
}
.gv-heat .gv-below {
  --gv-heat-tone: var(--gv-forward);
}
.gv-heat .gv-above {
  --gv-heat-tone: var(--gv-backward);
}
.gv-heat .gv-gap {
  background: none;
}
.gv-heat .gv-no-number {
  background:
    repeating-linear-gradient(
      45deg,
      var(--gv-wrong) 0 2px,
      var(--gv-bg) 2px 4px);
}
.gv-fault .gv-link {
  align-self: flex-start;
}

/* src/views/inspector/rounds.css */
.gv-over-rounds {
  display: flex;
  flex: none;
  flex-direction: column;
  gap: 4px;
}
.gv-rounds {
  display: flex;
  flex: none;
  gap: 4px;
  align-items: center;
}
.gv-round-text {
  color: var(--gv-nested);
  font-weight: 600;
  white-space: nowrap;
}
.gv-chart {
  flex: none;
  font-size: 11px;
}
.gv-chart > svg {
  display: block;
  width: 100%;
  height: 44px;
  border-bottom: 1px solid var(--gv-border);
  cursor: pointer;
}
.gv-ledger + .gv-chart > svg,
.gv-card > .gv-chart > svg {
  cursor: default;
}
.gv-columns {
  stroke: color-mix(in srgb, var(--gv-nested) 60%, var(--gv-bg));
}
.gv-chart .gv-here {
  stroke: var(--gv-hover);
}
.gv-chart .gv-marked {
  stroke: var(--gv-nested);
}
.gv-workspaces details {
  border-bottom: 1px solid var(--gv-border);
  padding-bottom: 6px;
}
.gv-workspaces summary {
  padding: 2px 0;
  cursor: pointer;
}
.gv-workspaces details > .gv-card {
  padding: 4px 0 4px 12px;
}
.gv-scale {
  display: flex;
  gap: 6px;
  align-items: center;
  margin-top: 4px;
  color: var(--gv-muted);
  font-size: 11px;
}
.gv-scale i {
  width: 60px;
  height: 6px;
  border-radius: 3px;
  background:
    linear-gradient(
      to right,
      var(--gv-forward),
      var(--gv-hover),
      var(--gv-backward));
}

/* src/views/inspector/value.css */
.gv-statistics {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(130px, 1fr));
  gap: 0 16px;
  align-content: start;
  margin: 0;
  font-size: 12px;
}
.gv-statistics > div {
  display: flex;
  justify-content: space-between;
  padding: 2px 0;
  border-bottom: 1px solid var(--gv-border);
}
.gv-statistics .gv-bad > span {
  color: var(--gv-wrong);
  font-weight: 600;
}
@container gradviz (min-width: 561px) and (max-width: 900px) {
  .gv-value {
    display: grid;
    grid-template: "head picture" auto "statistics picture" 1fr / minmax(0, 1fr) minmax(0, 1fr);
    gap: 8px 20px;
  }
  .gv-value > .gv-seen {
    grid-area: picture;
  }
}
.gv-called-on code {
  overflow-wrap: anywhere;
}
.gv-rule {
  padding-top: 8px;
  border-top: 1px solid var(--gv-border);
  overflow-wrap: anywhere;
}
.gv-rule summary {
  cursor: pointer;
}
.gv-rule pre {
  max-height: 260px;
  margin: 6px 0 0;
  padding: 6px 8px;
  overflow: auto;
  border-left: 3px solid var(--gv-backward);
  background: var(--gv-bar);
}

/* src/views/inspector/numbers.css */
.gv-bars {
  display: flex;
  gap: 1px;
  height: 44px;
  border-bottom: 1px solid var(--gv-border);
}
.gv-bars span {
  display: flex;
  flex: 1;
  align-items: flex-end;
}
.gv-bars .gv-zero {
  background: linear-gradient(var(--gv-ghost), var(--gv-ghost)) center / 1px 100% no-repeat;
}
.gv-bars i {
  display: flex;
  align-items: flex-end;
  width: 100%;
  background: color-mix(in srgb, var(--gv-nested) 60%, var(--gv-bg));
}
.gv-bars b {
  width: 100%;
  background:
    repeating-linear-gradient(
      45deg,
      var(--gv-fg) 0 1px,
      transparent 1px 4px);
}
.gv-axis {
  display: flex;
  justify-content: space-between;
  color: var(--gv-muted);
  font-size: 11px;
}
.gradviz .gv-numbers-table {
  margin: 0;
  border: 0;
  border-collapse: collapse;
  table-layout: auto;
  font-size: 12px;
}
.gradviz .gv-numbers-table :is(thead, tr) {
  border: 0;
  background: none;
}
.gradviz .gv-numbers-table :is(th, td) {
  padding: 2px 6px;
  border: 0;
  border-bottom: 1px solid var(--gv-border);
  background: none;
  text-align: right;
  white-space: nowrap;
}
.gradviz .gv-numbers-table th {
  color: var(--gv-muted);
  font-weight: 400;
}
.gradviz .gv-numbers-table tbody th {
  position: sticky;
  left: 0;
  background: var(--gv-bg);
}
.gradviz .gv-numbers-table .gv-bad {
  color: var(--gv-wrong);
  font-weight: 600;
}
.gv-pagers {
  display: flex;
  flex-wrap: wrap;
  gap: 4px 16px;
  align-items: center;
}
.gv-pager {
  display: inline-flex;
  gap: 2px;
  align-items: center;
  font-size: 12px;
}

/* src/views/inspector/ledger.css */
.gradviz .gv-ledger {
  width: 100%;
  margin: 0;
  border: 0;
  border-collapse: collapse;
  table-layout: auto;
  font-size: 12px;
}
.gv-ledger caption {
  padding: 0 0 6px;
  color: inherit;
  font-weight: 600;
  text-align: left;
}
.gradviz .gv-ledger :is(thead, tr) {
  border: 0;
  background: none;
}
.gradviz .gv-ledger :is(th, td) {
  padding: 5px 4px;
  border: 0;
  border-bottom: 1px solid var(--gv-border);
  background: none;
  text-align: left;
  vertical-align: top;
  white-space: normal;
}
.gradviz .gv-ledger th {
  padding: 2px 4px;
  color: var(--gv-muted);
  font-weight: 400;
}
.gradviz .gv-ledger :is(th, td):first-child {
  padding-left: 0;
}
.gradviz .gv-ledger .gv-numbers td {
  padding-bottom: 0;
  border-bottom: 0;
}
.gradviz .gv-ledger .gv-numbers + tr td {
  padding-top: 1px;
}
.gradviz .gv-ledger .gv-right {
  text-align: right;
  white-space: nowrap;
}
.gradviz .gv-ledger .gv-share {
  white-space: nowrap;
}
.gv-ledger :is(b, code) {
  overflow-wrap: anywhere;
}
.gv-share-bar {
  display: inline-block;
  width: 40px;
  height: 7px;
  margin-right: 5px;
  overflow: hidden;
  border-radius: 4px;
  background: var(--gv-hover);
}
.gv-share-bar > span {
  display: block;
  height: 100%;
  background: var(--gv-accumulation);
}
.gv-against > span {
  background:
    repeating-linear-gradient(
      45deg,
      var(--gv-wrong) 0 2px,
      var(--gv-bg) 2px 4px);
}
.gradviz .gv-ledger tfoot .gv-share {
  white-space: normal;
}
@container inspector (max-width: 345px) {
  .gradviz .gv-ledger :is(th, td) {
    padding-inline: 2px;
  }
  .gv-share-bar {
    width: 18px;
    margin-right: 3px;
  }
}

/* src/views/inspector/answer.css */
.gradviz .gv-answer ul {
  margin: 0;
  padding-left: 18px;
}
.gv-answer li + li {
  margin-top: 4px;
}
.gv-answer :is(p, li, dd) {
  overflow-wrap: anywhere;
}
.gv-asking {
  animation: gv-appear 0.1s 0.4s both;
}
@keyframes gv-appear {
  from {
    opacity: 0;
  }
}
.gradviz .gv-answer .gv-name {
  padding: 0;
  border-radius: 2px;
  font: inherit;
  text-decoration: underline dotted;
  text-underline-offset: 2px;
  white-space: normal;
  overflow-wrap: anywhere;
}
.gradviz .gv-answer .gv-name:hover {
  text-decoration-style: solid;
}
.gv-closed {
  white-space: nowrap;
}
.gv-wide {
  overflow-x: auto;
}
.gradviz .gv-answer .gv-wide :is(th, td, .gv-name) {
  overflow-wrap: break-word;
}
.gv-answer summary {
  width: fit-content;
  cursor: pointer;
}
.gv-row {
  padding-top: 6px;
  border-top: 1px solid var(--gv-border);
}
.gradviz .gv-row dl {
  display: grid;
  grid-template-columns: fit-content(45%) minmax(0, 1fr);
  gap: 2px 12px;
  margin: 2px 0 0;
  font-size: 12px;
}
.gradviz .gv-row :is(dt, dd) {
  float: none;
  width: auto;
  margin: 0;
  padding: 0;
  font-weight: 400;
}
.gv-row dt {
  color: var(--gv-muted);
}
.gv-light {
  display: flex;
  gap: 8px;
  align-items: center;
  padding: 7px 9px;
  border: 1px solid var(--gv-border);
  border-radius: 6px;
}
.gv-light i {
  flex: none;
  width: 10px;
  height: 10px;
  border-radius: 50%;
  background: var(--gv-right);
}
.gv-light.gv-cross i {
  border-radius: 0;
  background: var(--gv-wrong);
  clip-path: polygon(20% 0, 50% 30%, 80% 0, 100% 20%, 70% 50%, 100% 80%, 80% 100%, 50% 70%, 20% 100%, 0 80%, 30% 50%, 0 20%);
}
.gv-light.gv-diamond i {
  border-radius: 0;
  background: var(--gv-backward);
  clip-path: polygon(50% 0, 100% 50%, 50% 100%, 0 50%);
}
.gv-light.gv-ring i {
  border: 2px solid var(--gv-muted);
  background: none;
}
.gv-compare {
  display: flex;
  flex-wrap: wrap;
  gap: 6px;
  align-items: center;
}
.gradviz .gv-since {
  width: 72px;
}

/* src/views/inspector/breakpoints.css */
.gv-outcome:not(:empty) {
  margin-right: 10px;
  padding-left: 8px;
  border-left: 3px solid var(--gv-wrong);
}
.gv-wrong {
  color: var(--gv-wrong);
}
.gv-line .gv-gutter:hover {
  border-radius: 50%;
  background: color-mix(in srgb, var(--gv-wrong) 30%, var(--gv-bg));
}
.gradviz .gv-stops .gv-gutter {
  border-radius: 50%;
  background: var(--gv-wrong);
  color: var(--gv-bg);
}
.gradviz .gv-stops.gv-off .gv-gutter {
  background: none;
  box-shadow: inset 0 0 0 1.5px var(--gv-wrong);
  color: var(--gv-wrong);
}
.gv-add {
  display: flex;
  flex-direction: column;
  gap: 4px;
}
.gv-field {
  display: flex;
  gap: 6px;
}
.gradviz .gv-field input {
  flex: 1;
  min-width: 0;
  font: 12px var(--gv-mono);
}
.gradviz .gv-misread {
  padding: 4px 8px;
  border-left: 3px solid var(--gv-wrong);
  overflow-wrap: anywhere;
}
.gradviz.gradviz .gv-misread pre {
  margin: 0;
  padding: 0;
  border: 0;
  background: none;
  color: inherit;
  font: 12px/1.4 var(--gv-mono);
  overflow-x: auto;
}
.gv-breakpoints,
.gv-messages,
.gv-history {
  display: flex;
  flex: none;
  flex-direction: column;
  gap: 4px;
}
.gv-entry {
  display: flex;
  gap: 8px;
  align-items: baseline;
  min-width: 0;
}
.gv-entry input[type=checkbox] {
  flex: none;
  align-self: flex-start;
  width: 14px;
  height: 14px;
  margin: 3px 0 0;
  accent-color: var(--gv-wrong);
}
.gv-entry > .gv-tool {
  align-self: flex-start;
  margin-top: -2px;
}
.gv-entry-text {
  flex: 1;
  min-width: 0;
  overflow-wrap: anywhere;
}
.gv-off .gv-entry code {
  color: var(--gv-muted);
}
.gv-how {
  display: grid;
  grid-template-columns: minmax(0, 1fr) auto;
  gap: 6px;
  margin: 4px 0 8px 22px;
  padding-left: 8px;
  border-left: 2px solid var(--gv-border);
}
.gv-how label {
  display: flex;
  flex-wrap: wrap;
  grid-column: 1 / -1;
  gap: 2px 8px;
  align-items: center;
  justify-content: space-between;
}
.gradviz .gv-how input {
  font: 12px var(--gv-mono);
}
.gv-how input[type=number] {
  width: 84px;
}
.gv-how input[type=text] {
  flex: 1 1 150px;
  min-width: 0;
}
.gv-how .gv-misread {
  grid-column: 1 / -1;
}
.gradviz .gv-how > .gv-link {
  grid-column: 2;
}
.gv-entry .gv-hits {
  flex: none;
}
.gradviz .gv-entry .gv-link {
  align-self: baseline;
  min-width: 76px;
  font-variant-numeric: tabular-nums;
  text-align: left;
}
.gradviz .gv-entry .gv-link[aria-current] {
  border-color: var(--gv-accumulation);
  font-weight: 600;
}
.gv-watch {
  padding-top: 8px;
  border-top: 1px solid var(--gv-border);
}

/* src/views/inspector/state.css */
.gv-state > b > .gv-note,
.gv-heap .gv-note {
  font-weight: 400;
}
.gradviz .gv-heap {
  display: flex;
  flex-direction: column;
  margin: 0;
  padding: 0;
  list-style: none;
}
.gv-heap > li {
  border-bottom: 1px solid var(--gv-border);
}
.gv-taken {
  min-height: 26px;
}
.gradviz :is(.gv-heap, .gv-taken) button {
  display: flex;
  gap: 7px;
  align-items: baseline;
  width: 100%;
  padding: 3px 4px 3px 7px;
  border-radius: 0;
  font-size: 12px;
  text-align: left;
}
.gradviz .gv-taken button {
  border: 1px dashed var(--gv-border);
  border-radius: 5px;
}
.gv-rank {
  flex: none;
  min-width: 44px;
  color: var(--gv-forward);
}
.gv-says {
  margin-left: auto;
  color: var(--gv-backward);
}
.gradviz .gv-grads code {
  overflow-wrap: break-word;
}
.gradviz .gv-grads td > button {
  padding: 0 2px;
  white-space: normal;
  color: var(--gv-muted);
}
.gradviz :is(li, tr).gv-changed {
  background: var(--gv-backward-tint);
  box-shadow: inset 3px 0 0 var(--gv-backward);
}
.gradviz .gv-grads .gv-changed td > button {
  color: var(--gv-backward);
  font-weight: 600;
}
.gradviz .gv-grads :is(th, td):first-child {
  padding-left: 6px;
}

/* src/views/lesson/predict.css */
.gv-graph .edge[data-labelled] text {
  display: none;
}
.gv-graph .gv-wire[data-hidden] {
  display: none;
}
.gv-graph .gv-wire text {
  fill: var(--gv-forward);
  font: 11px var(--gv-mono);
  font-weight: 600;
  text-rendering: geometricPrecision;
}
.gv-graph .gv-wire .gv-gradient {
  fill: var(--gv-backward);
}
.gv-graph .gv-wire .gv-name {
  font-weight: 400;
}
.gv-graph .gv-wire .gv-unknown {
  fill: var(--gv-muted);
  font-style: italic;
  font-weight: 400;
}
.gv-graph .gv-crowded text {
  paint-order: stroke;
  stroke: var(--gv-bg);
  stroke-width: 4px;
}
.gv-graph .gv-placeless {
  flex: none;
  height: 24px;
  padding: 2px 14px;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.gv-graph .gv-stub {
  fill: none;
  stroke: var(--gv-forward);
  stroke-width: 1;
}
.gv-teaching :is(.gv-next, .gv-line.gv-future),
.gv-teaching .gv-track .gv-mark:not(.gv-past),
.gv-teaching .gv-graph .node.future:not(.group) text {
  visibility: hidden;
}
.gv-teaching .gv-graph :is(.node.future:not(.group, :has(.toggle)), .edge.future),
.gv-teaching .gv-span {
  pointer-events: none;
}
.gv-teaching .gv-veil {
  display: block;
}
.gv-teach {
  display: grid;
  grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
  height: 136px;
  border-top: 1px solid var(--gv-border);
}
.gv-predict,
.gv-chain {
  position: relative;
  min-width: 0;
  padding: 8px 14px;
  overflow: auto;
}
.gv-chain {
  display: flex;
  flex-direction: column;
  gap: 4px;
  border-left: 1px solid var(--gv-border);
}
.gv-equation {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 2px;
}
.gv-chain math {
  font-size: 15px;
}
.gv-chain mn {
  font-family: var(--gv-sans);
  font-size: 13px;
}
.gv-predict > p {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 2px 10px;
  min-height: 24px;
  margin: 0 90px 4px 0;
}
.gv-predicted.gv-right b {
  color: var(--gv-right);
}
.gv-predicted.gv-wrong b {
  color: var(--gv-wrong);
}
.gv-question {
  min-height: 24px;
}
.gv-question math {
  margin-left: 8px;
}
.gv-answers {
  display: flex;
  flex-wrap: wrap;
  gap: 6px;
  margin-top: 4px;
}
.gv-answers input {
  width: 180px;
}
.gv-score {
  position: absolute;
  top: 8px;
  right: 14px;
  color: var(--gv-muted);
}
@container gradviz (max-width: 900px) {
  .gv-teach {
    grid-template-columns: minmax(0, 1fr);
    grid-template-rows: 152px 84px;
    height: 236px;
  }
  .gv-chain {
    border-top: 1px solid var(--gv-border);
    border-left: 0;
  }
}
@container gradviz (max-width: 420px) {
  .gv-teach {
    grid-template-rows: 230px 100px;
    height: 330px;
  }
}

/* src/views/shell/formula.css */
.gv-formula {
  contain: strict;
  display: flex;
  align-items: center;
  height: 52px;
  padding: 0 14px;
  overflow: auto;
  border-top: 1px solid var(--gv-border);
  background: var(--gv-bar);
}
.gradviz math {
  font-family:
    "Latin Modern Math",
    "STIX Two Math",
    "Cambria Math",
    "Noto Sans Math",
    "DejaVu Math TeX Gyre",
    math;
}
.gv-formula math {
  flex: none;
  font-size: 16px;
  line-height: 1.2;
}
.gv-formula mtext {
  font-family: var(--gv-sans);
  font-size: 13px;
}
.gv-formula :is(msub, msup) > mtext:last-child {
  font-size: 11px;
}
@media (max-height: 800px) {
  .gv-formula {
    height: 38px;
  }
  .gv-formula math {
    font-size: 13px;
  }
}

/* src/views/shell/narration.css */
.gv-narration {
  position: relative;
  display: flex;
  gap: 4px 12px;
  padding: 8px 14px;
  overflow: hidden;
  border-top: 1px solid var(--gv-border);
  background: var(--gv-bar);
  line-height: 20px;
}
.gv-spoken {
  contain: strict;
  flex: 1;
  min-width: 0;
  height: calc(20px * var(--gv-lines, 2));
  max-height: clamp(40px, round(down, 9vh, 20px), 80px);
  overflow: hidden auto;
  background:
    linear-gradient(var(--gv-bar), var(--gv-bar)) top / 100% 2px no-repeat local,
    linear-gradient(var(--gv-bar), var(--gv-bar)) bottom / 100% 2px no-repeat local,
    linear-gradient(var(--gv-ghost), var(--gv-ghost)) top / 100% 1px no-repeat,
    linear-gradient(var(--gv-ghost), var(--gv-ghost)) bottom / 100% 1px no-repeat;
}
.gradviz .gv-spoken:focus-visible {
  outline-offset: 2px;
}
.gv-trial {
  position: absolute;
  visibility: hidden;
}
.gv-kind {
  --gv-tone: var(--gv-muted);
  margin-right: 10px;
  color: var(--gv-tone);
  white-space: nowrap;
}
.gv-kind.gv-tone-forward {
  --gv-tone: var(--gv-forward);
}
.gv-kind.gv-tone-backward {
  --gv-tone: var(--gv-backward);
}
.gv-kind.gv-tone-accumulation {
  --gv-tone: var(--gv-accumulation);
}
.gv-kind.gv-tone-right {
  --gv-tone: var(--gv-right);
}
.gv-kind.gv-tone-wrong {
  --gv-tone: var(--gv-wrong);
}
.gv-kind.gv-tone-nested {
  --gv-tone: var(--gv-nested);
}
.gv-sign {
  width: 12px;
  height: 12px;
  margin-right: 4px;
  vertical-align: -2px;
}
.gv-next {
  contain: strict;
  flex: 0 0 clamp(150px, 26%, 290px);
  overflow: hidden;
  color: var(--gv-muted);
  text-align: right;
}
.gradviz.gradviz.gradviz .gv-narration code {
  line-height: 19px;
}
@container gradviz (max-width: 699px) {
  .gv-narration {
    flex-direction: column;
  }
  .gv-spoken {
    flex: none;
    max-height: clamp(40px, round(down, 12vh, 20px), 140px);
  }
  .gv-next {
    flex: 0 0 20px;
    text-align: left;
  }
}
@container gradviz (max-width: 320px) {
  .gv-next {
    flex-basis: 40px;
  }
}

/* src/views/elements/contrast.css */
@media (forced-colors: active) {
  .gv-mark,
  .gv-playhead,
  .gv-heat i,
  .gv-scale i,
  .gv-bars :is(i, b, .gv-zero),
  .gv-light i,
  .gv-span,
  .gv-whole b,
  .gv-norm > i,
  .gv-share-bar > span {
    forced-color-adjust: none;
  }
  .gradviz.gradviz.gradviz button:is([aria-pressed=true]:not(.gv-stop), [aria-selected=true]) {
    background: Highlight;
    color: HighlightText;
    forced-color-adjust: none;
  }
  .gradviz.gradviz.gradviz button[aria-pressed=true] * {
    color: inherit;
  }
  .gradviz [aria-current=step] {
    outline: 2px solid Highlight;
    outline-offset: -2px;
  }
  .gradviz :is(.gv-tabs button, .gv-line, .gv-code-line) {
    border-color: Canvas;
  }
}

/* src/style.css */

/* src/lab/style.css */
.gradviz-lab-Panel,
.gradviz-lab-Body {
  height: 100%;
  overflow: auto;
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
}
.gradviz-lab-Body > .gradviz,
.gradviz-lab-Body .gv-frame {
  min-height: 100%;
  border: 0;
  border-radius: 0;
}
@container gradviz (max-width: 420px) {
  .gradviz-lab-Body .gv-frame > .gv-teach {
    max-height: 28%;
    overflow-y: auto;
  }
}
.gradviz-lab-Message {
  padding: 12px;
  font-size: var(--jp-ui-font-size1);
  line-height: 1.5;
  overflow-wrap: anywhere;
}
.gradviz-lab-Message[role=alert] {
  border-left: 3px solid var(--jp-error-color1);
}
.gradviz-lab-Message code {
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}
.gradviz-lab-Picture {
  display: flex;
  flex-wrap: wrap;
  gap: 12px;
  align-items: flex-start;
  overflow: auto;
}
.gradviz-lab-StepOn {
  flex: 0 0 100%;
  margin: 0;
  animation: gradviz-lab-appear 0s 2s both;
}
@keyframes gradviz-lab-appear {
  from {
    visibility: hidden;
  }
}
.gradviz-lab-Picture img {
  max-width: 100%;
}
body[data-jp-theme-light=false] .gradviz-lab-light,
body:not([data-jp-theme-light=false]) .gradviz-lab-dark {
  display: none;
}
.gradviz-lab-Picture pre {
  flex: 1 1 360px;
  min-width: 0;
  margin: 0;
  white-space: pre-wrap;
  word-break: normal;
  overflow-wrap: anywhere;
  font: var(--jp-code-font-size) / 1.5 var(--jp-code-font-family);
  color: var(--jp-content-font-color1);
}
.gradviz-lab-Panel {
  display: flex;
  flex-direction: column;
}
.gradviz-lab-Panel > .gradviz-lab-Body {
  flex: 1 1 0;
  min-height: 0;
}
.gradviz-lab-Mismatch {
  flex: none;
}
.gradviz-lab-Mismatch > p {
  margin: 0;
  padding: 6px 12px;
  border-left: 4px solid var(--jp-warn-color1);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.45;
}
.gradviz-lab-Mismatch > p:empty {
  display: none;
}
.gradviz-lab-Chooser {
  flex: none;
  padding: 4px 8px;
  border-bottom: 1px solid var(--jp-border-color2);
}
.gradviz-lab-Chooser select {
  width: 100%;
  padding: 2px 4px;
  border: 1px solid var(--jp-border-color1);
  border-radius: 3px;
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: var(--jp-ui-font-size1) var(--jp-ui-font-family);
}
.gradviz-lab-Status {
  height: 100%;
  padding: 0 6px;
  border: 0;
  background: none;
  color: inherit;
  font: inherit;
  font-variant-numeric: tabular-nums;
}
.gradviz-lab-Status:hover {
  background: var(--jp-layout-color3);
}
.gradviz-lab-line {
  --gv-line: light-dark(#0072b2, #6cb8ea);
  background: color-mix(in srgb, var(--gv-line) 16%, transparent);
  box-shadow: inset 3px 0 var(--gv-line);
}
.gradviz-lab-line.gradviz-lab-backward {
  --gv-line: light-dark(#b84a00, #f2a064);
}
.gradviz-lab-line.gradviz-lab-other {
  background: color-mix(in srgb, var(--gv-line) 7%, transparent);
  box-shadow: inset 1px 0 var(--gv-line);
}
[data-jp-theme-light=true] :is(.gradviz-lab-line, .gradviz-lab-dot, .gradviz-lab-Glance) {
  color-scheme: light;
}
[data-jp-theme-light=false] :is(.gradviz-lab-line, .gradviz-lab-dot, .gradviz-lab-Glance) {
  color-scheme: dark;
}
.gradviz-lab-gutter {
  width: 14px;
  cursor: pointer;
}
.gradviz-lab-dot {
  display: block;
  width: 8px;
  height: 8px;
  margin: 5px 3px;
  border: 1px solid light-dark(#b3261e, #ff9a91);
  border-radius: 50%;
  opacity: 0;
}
.gradviz-lab-gutter:hover .gradviz-lab-dot {
  opacity: 0.6;
}
.gradviz-lab-dot.gradviz-lab-set,
.gradviz-lab-gutter:hover .gradviz-lab-dot.gradviz-lab-set {
  background: light-dark(#b3261e, #ff9a91);
  opacity: 1;
}
`,""]),a.d(e,{},{A:i})},27(r){r.exports=function(r){var e=[];return e.toString=function(){return this.map(function(e){var a="",o=void 0!==e[5];return e[4]&&(a+="@supports (".concat(e[4],") {")),e[2]&&(a+="@media ".concat(e[2]," {")),o&&(a+="@layer".concat(e[5].length>0?" ".concat(e[5]):""," {")),a+=r(e),o&&(a+="}"),e[2]&&(a+="}"),e[4]&&(a+="}"),a}).join("")},e.i=function(r,a,o,g,t){"string"==typeof r&&(r=[[null,r,void 0]]);var i={};if(o)for(var n=0;n<this.length;n++){var v=this[n][0];null!=v&&(i[v]=!0)}for(var d=0;d<r.length;d++){var l=[].concat(r[d]);o&&i[l[0]]||(void 0!==t&&(void 0===l[5]||(l[1]="@layer".concat(l[5].length>0?" ".concat(l[5]):""," {").concat(l[1],"}")),l[5]=t),a&&(l[2]&&(l[1]="@media ".concat(l[2]," {").concat(l[1],"}")),l[2]=a),g&&(l[4]?(l[1]="@supports (".concat(l[4],") {").concat(l[1],"}"),l[4]=g):l[4]="".concat(g)),e.push(l))}},e}},26(r){r.exports=function(r){return r[1]}},18(r,e,a){a.r(e);var o=a(19),g=a.n(o),t=a(20),i=a.n(t),n=a(21),v=a.n(n),d=a(22),l=a.n(d),p=a(23),s=a.n(p),c=a(24),h=a.n(c),x=a(25),f={};f.styleTagTransform=h(),f.setAttributes=l(),f.insert=v().bind(null,"head"),f.domAPI=i(),f.insertStyleElement=s(),g()(x.A,f);let b=x.A&&x.A.locals?x.A.locals:void 0;a.d(e,{},{default:b})},19(r){var e=[];function a(r){for(var a=-1,o=0;o<e.length;o++)if(e[o].identifier===r){a=o;break}return a}function o(r,o){for(var g={},t=[],i=0;i<r.length;i++){var n=r[i],v=o.base?n[0]+o.base:n[0],d=g[v]||0,l="".concat(v," ").concat(d);g[v]=d+1;var p=a(l),s={css:n[1],media:n[2],sourceMap:n[3],supports:n[4],layer:n[5]};if(-1!==p)e[p].references++,e[p].updater(s);else{var c=function(r,e){var a=e.domAPI(e);return a.update(r),function(e){e?(e.css!==r.css||e.media!==r.media||e.sourceMap!==r.sourceMap||e.supports!==r.supports||e.layer!==r.layer)&&a.update(r=e):a.remove()}}(s,o);o.byIndex=i,e.splice(i,0,{identifier:l,updater:c,references:1})}t.push(l)}return t}r.exports=function(r,g){var t=o(r=r||[],g=g||{});return function(r){r=r||[];for(var i=0;i<t.length;i++){var n=a(t[i]);e[n].references--}for(var v=o(r,g),d=0;d<t.length;d++){var l=a(t[d]);0===e[l].references&&(e[l].updater(),e.splice(l,1))}t=v}}},21(r){var e={};r.exports=function(r,a){var o=function(r){if(void 0===e[r]){var a=document.querySelector(r);if(window.HTMLIFrameElement&&a instanceof window.HTMLIFrameElement)try{a=a.contentDocument.head}catch(r){a=null}e[r]=a}return e[r]}(r);if(!o)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");o.appendChild(a)}},23(r){r.exports=function(r){var e=document.createElement("style");return r.setAttributes(e,r.attributes),r.insert(e,r.options),e}},22(r,e,a){r.exports=function(r){var e=a.nc;e&&r.setAttribute("nonce",e)}},20(r){r.exports=function(r){if("u"<typeof document)return{update:function(){},remove:function(){}};var e=r.insertStyleElement(r);return{update:function(a){var o,g,t;o="",a.supports&&(o+="@supports (".concat(a.supports,") {")),a.media&&(o+="@media ".concat(a.media," {")),(g=void 0!==a.layer)&&(o+="@layer".concat(a.layer.length>0?" ".concat(a.layer):""," {")),o+=a.css,g&&(o+="}"),a.media&&(o+="}"),a.supports&&(o+="}"),(t=a.sourceMap)&&"u">typeof btoa&&(o+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(t))))," */")),r.styleTagTransform(o,e,r.options)},remove:function(){var r;null===(r=e).parentNode||r.parentNode.removeChild(r)}}}},24(r){r.exports=function(r,e){if(e.styleSheet)e.styleSheet.cssText=r;else{for(;e.firstChild;)e.removeChild(e.firstChild);e.appendChild(document.createTextNode(r))}}}}]);