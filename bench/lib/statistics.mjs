/** The value below which a given share of the samples lies. */
export function quantile(samples, share) {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const low = sorted[Math.floor(at)]
  return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at))
}

/** Median and inter-quartile range. */
export const summary = (samples) => ({
  median: round(quantile(samples, 0.5)),
  from: round(quantile(samples, 0.25)),
  to: round(quantile(samples, 0.75)),
})

/** Rounds to three significant figures: a noisy machine does not give more. */
export const round = (value) => Number(value.toPrecision(3))

/** Ratios taken within each round, so that a disturbance affects both sides. */
export const ratios = (samples, base) =>
  summary(samples.map((sample, index) => sample / base[index]).filter(Number.isFinite))
