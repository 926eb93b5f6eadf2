// Rows that TanStack Table searches, filters and sorts.
//
// A column: {id, title, value(row), cell?(row), text?, search?, hidden?, header?, unsortable?, group?, …}.
// `text` for words (left, A to Z first), else numbers; `hidden` ones only filter; one may be `search`.
const {
  columnFilteringFeature,
  constructTable,
  createFilteredRowModel,
  createSortedRowModel,
  globalFilteringFeature,
  rowSortingFeature,
  storeReactivityBindings,
  tableFeatures,
} = vendor

const FEATURES = tableFeatures({
  coreReactivityFeature: storeReactivityBindings(),
  columnFilteringFeature,
  globalFilteringFeature,
  rowSortingFeature,
  filteredRowModel: createFilteredRowModel(),
  sortedRowModel: createSortedRowModel(),
})

const COLLATOR = new Intl.Collator('en', { numeric: true })
const byText = (a, b, id) => COLLATOR.compare(a.getValue(id), b.getValue(id))
const byNumber = (a, b, id) => a.getValue(id) - b.getValue(id)
const isValue = (row, id, value) => row.getValue(id) === value
const hasWords = (row, id, words) => words.every((word) => row.getValue(id).includes(word))

function definition({ id, value, text }) {
  return {
    id,
    accessorFn: (row) => value(row) ?? undefined,
    sortFn: text ? byText : byNumber,
    sortUndefined: 'last',
    filterFn: isValue,
  }
}

/** Rows searched, filtered, sorted (`id` or `-id`) and cut into pages; `rows` and `columns` must be stable. */
function useTable({ rows, columns, sort = '', q = '', filters = {}, page = 1, pageSize = Infinity }) {
  const table = useMemo(
    () =>
      constructTable({
        features: FEATURES,
        data: rows,
        columns: columns.map(definition),
        globalFilterFn: hasWords,
        getColumnCanGlobalFilter: (column) => columns.find((c) => c.id === column.id).search === true,
        autoResetPageIndex: false,
      }),
    [rows, columns],
  )
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  const id = sort.replace(/^-/, '')
  const state = {
    sorting: columns.some((c) => c.id === id) ? [{ id, desc: sort.startsWith('-') }] : [],
    globalFilter: words.length ? words : undefined,
    columnFilters: Object.entries(filters)
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([column, value]) => ({ id: column, value })),
  }
  const key = JSON.stringify(state)
  const ordered = useMemo(() => {
    table.setOptions((options) => ({ ...options, state }))
    return table.getSortedRowModel().rows.map((row) => row.original)
  }, [table, key])
  const pages = Math.max(1, Math.ceil(ordered.length / pageSize))
  const current = Math.min(Math.max(1, Math.trunc(Number(page)) || 1), pages)
  const shown = pageSize === Infinity ? ordered : ordered.slice((current - 1) * pageSize, current * pageSize)
  return {
    columns: columns.filter((c) => !c.hidden),
    ordered,
    shown,
    page: current,
    pages,
    total: rows.length,
    sort,
  }
}
