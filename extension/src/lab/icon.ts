import { LabIcon } from "@jupyterlab/ui-components";

/** A nabla. */
export const gradvizIcon = new LabIcon({
  name: "gradviz:nabla",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16"><path class="jp-icon3" fill="#616161" fill-rule="evenodd" d="M1 2h14L8.9 14.5H7.1zm3.6 2L8.6 12.2 12.4 4z"/></svg>`,
});
