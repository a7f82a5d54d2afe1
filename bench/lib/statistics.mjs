/** The value below which a share of the samples lies. */
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

/** Three figures are all that a noisy machine can give. */
export const round = (value) => Number(value.toPrecision(3))

/** Ratios taken within each round, so that what disturbs a round disturbs both sides of it. */
export const ratios = (samples, base) =>
  summary(samples.map((sample, index) => sample / base[index]).filter(Number.isFinite))
