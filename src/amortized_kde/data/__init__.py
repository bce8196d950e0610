"""What people hold numbers in, read into checked arrays: samples, weights and bounds."""
