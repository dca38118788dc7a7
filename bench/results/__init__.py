"""`python -m bench.results [NAME ...]`: the campaigns that ship, run, and what they answer.

Every page of docs/results that this writes says what a paper asks or claims, and answers it from
the tables of the campaign of the same name. No figure on a page is typed by hand.
"""
