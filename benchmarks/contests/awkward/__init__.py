"""What each library does on awkward data: samples and libraries enter, a table of what happened leaves.

Everything in the table is measured: a library is asked for log-densities, and a judge looks at what came back.
"""
