"""The contest in two to eight dimensions: densities with known truth, real tables, peers, scores and their report."""
