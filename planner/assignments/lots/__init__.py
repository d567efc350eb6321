"""Assignments at random: with what probability each pair is assigned, and draws that keep to it."""
