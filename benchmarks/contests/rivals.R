# Log-densities of R's estimators, for many samples in one process:
#
#     Rscript rivals.R RIVAL FOLDER
#
# FOLDER holds float64 files: values and points (of all tasks, one after the other), sizes and counts (of both, by task)
# and limits (lower and upper bound by task, infinite where open). The script writes answers (a log-density for each
# point; NaN where the estimator failed) and failures.txt (a line for each failure). Where a smoothing spline does not
# converge, mostly because of outliers, logspline replaces it, as a user of splines would.

arguments <- commandArgs(TRUE)
folder <- arguments[2]
read <- function(name) {
  path <- file.path(folder, paste0(name, ".bin"))
  readBin(path, "double", file.size(path) / 8)
}

logspline_fit <- function(x, lower, upper) {
  options <- list(x = x)
  if (is.finite(lower)) options$lbound <- lower
  if (is.finite(upper)) options$ubound <- upper
  fit <- do.call(logspline::logspline, options)
  if (!inherits(fit, "logspline")) stop("logspline gives no fit")
  function(y) log(logspline::dlogspline(y, fit))
}

# A smoothing spline needs a finite domain. On an open side it extends past the sample by a fraction of the range.
ssden_fit <- function(fraction) {
  function(x, lower, upper) {
    margin <- fraction * diff(range(x))
    if (!is.finite(lower)) lower <- min(x) - margin
    if (!is.finite(upper)) upper <- max(x) + margin
    fit <- gss::ssden(~x, domain = data.frame(x = c(lower, upper)), seed = 1)
    # gss normalises on 200 nodes, which miss about 1e-4 of the mass, more on long domains.
    mass <- panel_integral(function(y) gss::dssden(fit, y), c(lower, upper, x))
    function(y) {
      inside <- y >= lower & y <= upper
      answer <- rep(-Inf, length(y))
      answer[inside] <- log(gss::dssden(fit, y[inside])) - log(mass)
      answer
    }
  }
}

# The maximum likelihood estimate among log-concave densities (Duembgen and Rufibach); zero outside the sample.
logcondens_fit <- function(x, lower, upper) {
  fit <- logcondens::logConDens(x, smoothed = FALSE, print = FALSE)
  function(y) {
    inside <- y >= min(x) & y <= max(x)
    answer <- rep(-Inf, length(y))
    answer[inside] <- logcondens::evaluateLogConDens(y[inside], fit, which = 1)[, 2]
    answer
  }
}

panel_integral <- function(f, ends) {
  ends <- sort(unique(ends))
  # Long panels are divided, so that twenty panels at least span the domain.
  ends <- sort(unique(c(ends, seq(ends[1], ends[length(ends)], length.out = 21))))
  width <- diff(ends)
  nodes <- c(-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831, 0.9061798459386640)
  weights <- c(0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665, 0.2369268850561891)
  points <- outer(head(ends, -1) + width / 2, rep(1, 5)) + outer(width / 2, nodes)
  sum(outer(width / 2, weights) * f(as.vector(points)))
}

# The default fraction of ssden, and the whole range. The second of a list is used where the first fails.
rivals <- list(
  logspline = list(logspline_fit),
  logcondens = list(logcondens_fit),
  ssden = list(ssden_fit(0.05), logspline_fit),
  "ssden, wide" = list(ssden_fit(1), logspline_fit)
)

fits <- rivals[[arguments[1]]]
values <- read("values")
points <- read("points")
sizes <- read("sizes")
counts <- read("counts")
limits <- read("limits")
first_value <- cumsum(c(0, sizes))
first_point <- cumsum(c(0, counts))
answers <- rep(NaN, length(points))
failures <- character()
for (task in seq_along(sizes)) {
  x <- values[first_value[task] + seq_len(sizes[task])]
  at <- first_point[task] + seq_len(counts[task])
  for (fit in fits) {
    answer <- tryCatch(
      suppressWarnings(fit(x, limits[2 * task - 1], limits[2 * task])(points[at])),
      error = function(e) conditionMessage(e)
    )
    if (is.numeric(answer) && !anyNA(answer)) {
      answers[at] <- answer
      break
    }
    what <- if (is.character(answer)) gsub("\\s+", " ", answer) else "the log-density is NaN at a point"
    failures <- c(failures, what)
  }
}
writeBin(as.double(answers), file.path(folder, "answers.bin"))
writeLines(failures, file.path(folder, "failures.txt"))
