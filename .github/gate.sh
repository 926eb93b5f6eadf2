#!/usr/bin/env bash
# Runs a study and gates it: the table goes to gate.md, the job's summary, and the step's output.
set -uo pipefail

if [ -n "${STUDY:-}" ]; then
    metaeval run "$STUDY" --out "$RUN" || exit $?
fi
arguments=("$RUN" --summary gate.md --junit gate.xml)
[ -z "${BASELINE:-}" ] || arguments+=(--baseline "$BASELINE")
read -r -a more <<<"${OPTIONS:-}"
metaeval gate "${arguments[@]}" ${more[@]+"${more[@]}"}
code=$?
case $code in
    0) verdict=pass ;;
    1) verdict=fail ;;
    4) verdict=inconclusive ;;
    *) exit $code ;;
esac
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat gate.md >>"$GITHUB_STEP_SUMMARY"
[ -z "${GITHUB_OUTPUT:-}" ] || echo "verdict=$verdict" >>"$GITHUB_OUTPUT"
[ "$verdict" != inconclusive ] || [ "${INCONCLUSIVE:-fail}" != pass ] || exit 0
exit $code
