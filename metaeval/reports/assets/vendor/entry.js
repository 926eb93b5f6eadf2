// What of the libraries is in vendor.min.js; the page sees it as the global `vendor`.
export { h, render, Fragment } from 'preact'
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
export { default as htm } from 'htm'
export {
  columnFilteringFeature,
  constructTable,
  createFilteredRowModel,
  createSortedRowModel,
  globalFilteringFeature,
  rowSortingFeature,
  tableFeatures,
} from '@tanstack/table-core'
export { storeReactivityBindings } from '@tanstack/table-core/store-reactivity-bindings'
export { View, parse } from 'vega'
export { compile } from 'vega-lite'
export { expressionInterpreter } from 'vega-interpreter'
