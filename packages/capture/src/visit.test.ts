import { describe, expect, test } from 'vitest';
import { touchOf } from './visit.ts';

describe('the touch of an address', () => {
  test('is its five marks, by the names a lead has for them', () => {
    expect(
      touchOf('?utm_source=google&utm_medium=cpc&utm_campaign=a%20b&utm_content=c&utm_term=d&x=1'),
    ).toEqual({
      utmSource: 'google',
      utmMedium: 'cpc',
      utmCampaign: 'a b',
      utmContent: 'c',
      utmTerm: 'd',
    });
  });

  test('is a click id alone too, whatever the platform calls it', () => {
    expect(touchOf('?gclid=g-1&x=1')).toEqual({ attribution: { gclid: 'g-1' } });
    expect(touchOf('?li_fat_id=l&fbclid=f&utm_source=meta')).toEqual({
      utmSource: 'meta',
      attribution: { liFatId: 'l', fbclid: 'f' },
    });
  });

  test.each(['', '?', '?gclid=', '?utm_source=', '?utm_id=7'])('is none: %j', (query) => {
    expect(touchOf(query)).toBeUndefined();
  });

  test('keeps a mark short enough for five of them to fit a body', () => {
    expect(touchOf(`?utm_term=${'x'.repeat(20_000)}`)?.utmTerm).toHaveLength(3000);
  });

  test('survives an address that is not well encoded', () => {
    expect(touchOf('?utm_source=%E0%A4%A&utm_medium=%')).toMatchObject({ utmMedium: '%' });
  });
});
