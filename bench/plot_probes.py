#!/usr/bin/env python3
"""Draws the scores that probes told in the logs of pre-training jobs, as an SVG with one curve for each log.

    python3 bench/plot_probes.py TITLE [LABEL=]LOG... > curves.svg

LOG is the standard error of a job with --log-format json. The horizontal axis is the share of the job's updates.
"""
import json
import os
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 56, 150, 40, 44
COLOURS = ["#0b6e99", "#c2410c", "#4d7c0f", "#7c3aed"]


def read(path):
    """The points (share of the updates, accuracy) of a log."""
    points, total = [], None
    for line in open(path, encoding="utf-8"):
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "start":
            total = event["total_steps"]
        if event.get("event") == "probe":
            points.append((event["step"], event["accuracy"]))
    return [(step / total, accuracy) for step, accuracy in points]


def main(title, arguments):
    curves = []
    for argument in arguments:
        label, _, path = argument.rpartition("=")
        curves.append((label or os.path.basename(path), read(path)))
    scores = [score for _, points in curves for _, score in points]
    low, high = int(min(scores) * 20) / 20, min(1, int(max(scores) * 20 + 1) / 20)

    def x(share):
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(score):
        return HEIGHT - BOTTOM - (score - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">')
    print(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    print(f'<text x="{LEFT}" y="22" font-size="14">{title}</text>')
    for tick in range(round(low * 20), round(high * 20) + 1):
        at = y(tick / 20)
        print(f'<line x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}" stroke="#ddd"/>')
        print(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tick / 20:.2f}</text>')
    for percent in (0, 25, 50, 75, 100):
        print(f'<text x="{x(percent / 100):.1f}" y="{HEIGHT - 24}" text-anchor="middle">{percent} %</text>')
    print(f'<text x="{x(0.5):.1f}" y="{HEIGHT - 6}" text-anchor="middle">updates of pre-training</text>')
    for (label, points), colour in zip(curves, COLOURS):
        path = " ".join(f"{x(share):.1f},{y(score):.1f}" for share, score in points)
        print(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for share, score in points:
            print(f'<circle cx="{x(share):.1f}" cy="{y(score):.1f}" r="3" fill="{colour}"/>')
    below = 0  # labels stand below each other, the best first
    for (label, points), colour in sorted(zip(curves, COLOURS), key=lambda curve: -curve[0][1][-1][1]):
        share, score = points[-1]
        below = max(y(score) + 4, below + 15)
        print(f'<text x="{x(share) + 10:.1f}" y="{below:.1f}" fill="{colour}">{label} {score:.3f}</text>')
    print("</svg>")


if len(sys.argv) < 3:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2:])
