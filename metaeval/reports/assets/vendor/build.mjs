// Makes vendor.min.js and LICENSES.txt from what package.json names: npm install, then node build.mjs.
import { build } from 'esbuild'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const { metafile } = await build({
  entryPoints: ['entry.js'],
  outfile: 'vendor.min.js',
  bundle: true,
  minify: true,
  format: 'iife',
  globalName: 'vendor',
  target: 'es2022',
  legalComments: 'none',
  metafile: true,
})

// d3-delaunay ships with these two built in.
const builtIn = ['delaunator', 'robust-predicates']
const inside = Object.entries(metafile.outputs['vendor.min.js'].inputs)
  .filter(([path, { bytesInOutput }]) => path.startsWith('node_modules/') && bytesInOutput > 0)
  .map(([path]) => path.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/)[1])

const byText = new Map() // a licence's text → the packages under it
for (const name of [...new Set([...inside, ...builtIn])].sort()) {
  const folder = `node_modules/${name}`
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const file = readdirSync(folder).find((f) => /^(licen[cs]e|copying)/i.test(f))
  const text = readFileSync(`${folder}/${file}`, 'utf8').replaceAll('\r\n', '\n').trim()
  byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`])
}
const parts = [...byText].map(([text, packages]) => `${packages.join('\n')}\n\n${text}\n`)
writeFileSync(
  'LICENSES.txt',
  `The licences of the packages inside vendor.min.js.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`,
)
