<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '${script_hash}'; style-src '${style_hash}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="PortaGPU ${version | h}">
<link rel="icon" href="data:,">
<title>${title | h}</title>
<style>${style}</style>
</head>
<body>
<header class="top">
<div>
<h1>${title | h}</h1>
<p class="quiet">${subtitle | h}</p>
</div>
<button class="button" id="theme" type="button">Dark</button>
</header>
<main>
<noscript>
<p>Views, filters and plots need JavaScript, which is all in this file. The published table:</p>
<div class="plain"><table>
<thead><tr>
% for heading in headings:
<th scope="col">${heading | h}</th>
% endfor
</tr></thead>
<tbody>
% for texts in lines:
<tr>\
% for text in texts:
<td>${text | h}</td>\
% endfor
</tr>
% endfor
</tbody></table></div>
% if compiled:
<p>Compiled for hardware that was not there; nothing was run:</p>
<div class="plain"><table>
<thead><tr>
% for heading in compiled_headings:
<th scope="col">${heading | h}</th>
% endfor
</tr></thead>
<tbody>
% for texts in compiled:
<tr>\
% for text in texts:
<td>${text | h}</td>\
% endfor
</tr>
% endfor
</tbody></table></div>
% endif
% if left_out:
<p>${left_out} more lines are left out here: make a table with <code>portagpu matrix -o FILE.md</code>.</p>
% endif
</noscript>
<dl class="facts" id="facts" hidden></dl>
<section class="card" aria-labelledby="matrix-title" id="matrix-section" hidden>
<h2 id="matrix-title">Problems by devices</h2>
<p class="quiet" id="about"></p>
<form class="controls" id="controls">
<label class="field">View<select id="view"></select></label>
<label class="field wide">Find a problem<input type="search" id="search" placeholder="gemm float16 4096" autocomplete="off" spellcheck="false"></label>
<label class="field">Suite<select id="suite"></select></label>
<label class="field">Arithmetic<select id="arithmetic"></select></label>
<label class="check"><input type="checkbox" id="everywhere"> on every device</label>
<button class="button" type="button" id="clear">Reset</button>
</form>
<fieldset class="devices" id="devices"><legend>Devices</legend></fieldset>
<p class="legend" id="legend"></p>
<p class="sr" role="status" id="status"></p>
<div class="scroll" role="region" aria-labelledby="matrix-title" tabindex="0">
<table class="matrix" id="matrix"><caption class="sr">Arrow keys move between cells, Enter opens a cell's details, Escape closes them.</caption><thead></thead><tbody></tbody><tfoot></tfoot></table>
</div>
</section>
<div class="charts">
<section class="card" aria-labelledby="roofline-title" id="roofline-section" hidden>
<h2 id="roofline-title">Roofline</h2>
<p class="quiet">Each kernel by its arithmetic intensity, below the roofs that the device's own probes measured.</p>
<div class="controls"><label class="field">Device<select id="roofline-device"></select></label></div>
<div id="roofline"></div>
</section>
<section class="card" aria-labelledby="cascade-title" id="cascade-section" hidden>
<h2 id="cascade-title">Performance portability</h2>
<p class="quiet" id="cascade-about"></p>
<div id="cascade"></div>
</section>
</div>
<section class="card" aria-labelledby="compiled-title" id="compiled-section" hidden>
<h2 id="compiled-title">Compiled for hardware that was not there</h2>
<p class="quiet" id="compiled-about"></p>
<form class="controls" id="compiled-controls"><label class="field wide">Find a kernel<input type="search" id="compiled-search" autocomplete="off" spellcheck="false"></label></form>
<p class="legend"><span>Number: registers of a thread</span><span>below: subgroups that a compute unit holds, of the most possible</span><span class="swatch"><i class="cell less half"></i>fewer than possible</span><span class="swatch"><i class="cell less"></i>spills</span><span>hatched: no program</span></p>
<p class="sr" role="status" id="compiled-status"></p>
<div class="scroll" role="region" aria-labelledby="compiled-title" id="compiled" tabindex="0">
<table class="matrix" id="compiled-table"><caption class="sr">Arrow keys move between cells, Enter opens a cell's details, Escape closes them.</caption><thead></thead><tbody></tbody></table>
</div>
</section>
<section class="card" aria-labelledby="machines-title">
<h2 id="machines-title">Devices and method</h2>
<div class="plain" id="machines" role="region" aria-labelledby="machines-title" tabindex="0">
<table>
<thead><tr><th scope="col"><span class="sr">Letter</span></th><th scope="col">Device</th><th scope="col">Driver</th><th scope="col">Compiler</th><th scope="col">Machine</th><th scope="col">Measured roofs</th></tr></thead>
<tbody>
% for device in devices:
<tr><th scope="row"><span class="letter">${device[0] | h}</span></th>\
% for text in device[1:]:
<td>${text | h}</td>\
% endfor
</tr>
% endfor
</tbody></table></div>
<ul class="notes">
% for note in notes:
<li>${note | h}</li>
% endfor
</ul>
</section>
</main>
<footer>
<p>Made by <code>portagpu matrix</code>, PortaGPU ${version | h}, ${made | h}. This page asks nothing of any network.</p>
</footer>
<div id="tip" role="tooltip" hidden></div>
<script type="application/json" id="data">${data}</script>
<script>${script}</script>
</body>
</html>
