# Log-densities of R's estimators in several dimensions, for many samples in one process:
#
#     Rscript peers.R PEER FOLDER
#
# FOLDER holds float64 files: shapes (rows, points and columns of each task), values and points (row by row, one task
# after the other) and limits (lower bounds of all columns, then upper bounds, by task; infinite where open). The script
# writes answers (a log-density for each point; NaN where the estimator failed), seconds (processor time by task) and
# failures.txt (one line for each task, empty where all went well).

suppressMessages({
  library(ks)
  library(mclust)
})
arguments <- commandArgs(TRUE)
folder <- arguments[2]
read <- function(name) {
  path <- file.path(folder, paste0(name, ".bin"))
  readBin(path, "double", file.size(path) / 8)
}

inside <- function(y, lower, upper) {
  colSums(t(y) >= lower & t(y) <= upper) == ncol(y)
}

# An estimate without bounds, cut at them: its mass inside is counted over 20,000 draws.
cut_at <- function(log_density, draws, y, lower, upper) {
  if (all(is.infinite(lower), is.infinite(upper))) return(log_density)
  mass <- mean(inside(draws, lower, upper))
  ifelse(inside(y, lower, upper), log_density - log(mass), -Inf)
}

# A kernel sum at points far out is exactly zero in ks; with log-sum-exp it is not.
kernel_log_density <- function(x, H, y) {
  L <- t(chol(H))
  a <- forwardsolve(L, t(x))
  b <- forwardsolve(L, t(y))
  constant <- -0.5 * ncol(x) * log(2 * pi) - sum(log(diag(L))) - log(nrow(x))
  apply(b, 2, function(point) {
    terms <- -0.5 * colSums((a - point)^2)
    max(terms) + log(sum(exp(terms - max(terms))))
  }) + constant
}

with_bandwidth <- function(select) {
  function(x, y, lower, upper) {
    H <- select(x)
    set.seed(1)
    draws <- x[sample.int(nrow(x), 20000, TRUE), ] + matrix(rnorm(20000 * ncol(x)), 20000) %*% chol(H)
    cut_at(kernel_log_density(x, H, y), draws, y, lower, upper)
  }
}

# Boundary kernels are evaluated on ks's own grid, which must end: an open side ends half a range past the sample.
boundary <- function(kernel) {
  function(x, y, lower, upper) {
    range <- apply(x, 2, max) - apply(x, 2, min)
    lower <- ifelse(is.finite(lower), lower, apply(x, 2, min) - range / 2)
    upper <- ifelse(is.finite(upper), upper, apply(x, 2, max) + range / 2)
    fit <- kde.boundary(x, xmin = lower, xmax = upper, boundary.kernel = kernel, compute.cont = FALSE)
    density <- pmax(fit$estimate, 0)
    weights <- lapply(fit$eval.points, function(e) {
      step <- diff(e)
      (c(step, 0) + c(0, step)) / 2
    })
    fit$estimate <- density / sum(density * outer(weights[[1]], weights[[2]]))
    ifelse(inside(y, lower, upper), log(pmax(predict(fit, x = y), 0)), -Inf)
  }
}

mclust_fit <- function(x, y, lower, upper) {
  fit <- densityMclust(x, plot = FALSE, verbose = FALSE)
  if (is.null(fit)) stop("mclust gives no fit")
  draws <- sim(fit$modelName, fit$parameters, n = 20000, seed = 1)[, -1, drop = FALSE]
  cut_at(as.numeric(predict(fit, y, what = "dens", logarithm = TRUE)), draws, y, lower, upper)
}

peers <- list(
  "ks Hpi" = with_bandwidth(Hpi),
  "ks Hscv" = with_bandwidth(Hscv),
  "ks boundary (beta)" = boundary("beta"),
  "ks boundary (linear)" = boundary("linear"),
  mclust = mclust_fit
)

fit <- peers[[arguments[1]]]
shapes <- matrix(read("shapes"), nrow = 3)
values <- read("values")
points <- read("points")
limits <- read("limits")
answers <- seconds <- numeric()
failures <- character()
first <- c(0, 0, 0)
for (task in seq_len(ncol(shapes))) {
  rows <- shapes[1, task]
  count <- shapes[2, task]
  d <- shapes[3, task]
  x <- matrix(values[first[1] + seq_len(rows * d)], ncol = d, byrow = TRUE)
  y <- matrix(points[first[2] + seq_len(count * d)], ncol = d, byrow = TRUE)
  ends <- limits[first[3] + seq_len(2 * d)]
  first <- first + c(rows * d, count * d, 2 * d)
  start <- proc.time()
  answer <- tryCatch(
    suppressWarnings(fit(x, y, ends[1:d], ends[d + 1:d])),
    error = function(e) conditionMessage(e)
  )
  used <- proc.time() - start
  seconds <- c(seconds, used[[1]] + used[[2]])
  failed <- !is.numeric(answer) || anyNA(answer)
  answers <- c(answers, if (failed) rep(NaN, count) else answer)
  failures <- c(failures, if (!failed) "" else if (is.character(answer)) gsub("\\s+", " ", answer) else "NaN at a point")
}
writeBin(as.double(answers), file.path(folder, "answers.bin"))
writeBin(as.double(seconds), file.path(folder, "seconds.bin"))
writeLines(failures, file.path(folder, "failures.txt"))
