"""Contracts: what a configuration, a dataset, a record and an error must look like. No algorithm lives here."""
